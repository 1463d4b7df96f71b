#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/monitoring/dashboard.py: writes the Grafana dashboard, hatrpc-dashboard.json, from the table of panels below.

  deploy/monitoring/dashboard.py > deploy/monitoring/hatrpc-dashboard.json

Change the table, not the JSON. A test compares the two, and evaluates each expression with a Prometheus that scrapes
two daemons.
"""

import json

WIDTH = 24


def selector(*matchers):
    return "{" + ", ".join(('job=~"$job"', 'instance=~"$instance"', *matchers)) + "}"


OF_FUNCTION = ('thrift_service=~"$service"', 'thrift_method=~"$function"')
NODE = selector()
PEER = selector('peer=~"$peer"')
ONE_SIDED = selector(*OF_FUNCTION)  # for metrics that only one side counts
SIDED = selector(*OF_FUNCTION, 'side=~"$side"')
ERRORS = selector(*OF_FUNCTION, 'side=~"$side"', 'outcome=~"app_exception|local_error|unknown"')
CLIENT = selector('side="client"')
FAILED = selector('side="client"', 'outcome="local_error"')
MISSED = selector('reason!="opening"')
OWN = selector('use="certificate"')
AUTHORITY = selector('use="ca"')
ENDS = "hatrpc_tls_certificate_expiry_timestamp_seconds"
BY_FUNCTION = "sum by (thrift_service, thrift_method)"
FUNCTION_NAME = "{{thrift_service}}.{{thrift_method}}"

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
RED, YELLOW, GREEN = "red", "yellow", "green"


def rate(metric, labels):
    return f"rate({metric}{labels}[$__rate_interval])"


def quantile(part):
    buckets = rate("hatrpc_request_duration_seconds_bucket", SIDED)
    return f"histogram_quantile({part}, sum by (le, thrift_service, thrift_method) ({buckets}))"


def stat(title, text, unit, expr, steps=None, width=4):
    """Makes a panel with one number; `steps`: [(from, colour)]."""
    return {"type": "stat", "title": title, "description": text, "unit": unit, "width": width, "height": 4,
            "steps": steps, "targets": [(expr, title)],
            "options": {"graphMode": "area", "colorMode": "value", "reduceOptions": {"calcs": ["lastNotNull"]}}}


def graph(title, text, unit, *targets, width=8, stacked=False, height=8):
    """Makes a panel with lines over time; targets: (expression, legend)."""
    return {"type": "timeseries", "title": title, "description": text, "unit": unit, "width": width,
            "height": height, "targets": targets, "stacked": stacked,
            "options": {"tooltip": {"mode": "multi", "sort": "desc"},
                        "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]}}}


def states(title, text, *targets, width=12):
    """Makes a panel that shows states over time: 1 is good, 0 is bad."""
    return {"type": "state-timeline", "title": title, "description": text, "unit": "none", "width": width,
            "height": 7, "targets": targets, "steps": [(None, RED), (1, GREEN)],
            "mappings": [{"type": "value", "options": {"0": {"text": "down", "color": RED},
                                                       "1": {"text": "up", "color": GREEN}}}],
            "options": {"mergeValues": True, "showValue": "never", "rowHeight": 0.8}}


def table(title, text, expr, columns, width=24):
    """Makes a table of the latest labels of a metric; columns: {label: heading}, in this order."""
    return {"type": "table", "title": title, "description": text, "unit": "none", "width": width, "height": 9,
            "targets": [(expr, "")], "instant": True, "columns": columns, "options": {"showHeader": True}}


def heatmap(title, text, expr, width=12):
    return {"type": "heatmap", "title": title, "description": text, "unit": "s", "width": width, "height": 9,
            "targets": [(expr, "{{le}}")], "format": "heatmap",
            "options": {"calculate": False, "yAxis": {"unit": "s"}, "cellGap": 0,
                        "color": {"mode": "scheme", "scheme": "Blues", "steps": 64}}}


FAILED_PART = f'sum({rate("hatrpc_requests_total", FAILED)}) / sum({rate("hatrpc_requests_total", CLIENT)})'
MISSED_PART = f'sum({rate("hatrpc_fallbacks_total", MISSED)}) / sum({rate("hatrpc_calls_total", NODE)})'

ROWS = {
    "Overview": [
        stat("Daemons", "Nodes whose hatrpcd Prometheus scrapes.", "none", f"count(hatrpc_build_info{NODE})"),
        stat("Calls", "Calls that ended, as the callers' hosts count them.", "reqps",
             f'sum({rate("hatrpc_requests_total", CLIENT)})'),
        stat("Calls that failed on the way",
             "The share of all calls that hatrpcd had to answer itself: no peer, no server, a deadline, a limit.",
             "percentunit", FAILED_PART, [(None, GREEN), (0.001, YELLOW), (0.05, RED)]),
        stat("Calls that miss RDMA",
             "The share of all calls that used TCP although their plan wants RDMA. Calls that use TCP while a lane is "
             "opened do not count.",
             "percentunit", MISSED_PART, [(None, GREEN), (0.01, YELLOW), (0.5, RED)]),
        stat("Peers without a link", "Pairs of a node and a peer between which no link is up.", "none",
             f"sum(1 - hatrpc_peer_up{NODE})", [(None, GREEN), (1, RED)]),
        stat("Refused manifests", "Nodes whose last reload was refused; they keep the old routes.", "none",
             f"sum(1 - hatrpc_config_last_reload_successful{NODE})", [(None, GREEN), (1, RED)]),
        graph("Calls by node", "Calls that ended, on the chosen side.", "reqps",
              (f'sum by (instance) ({rate("hatrpc_requests_total", SIDED)})', "{{instance}}")),
        graph("Calls by outcome",
              "success; declared_exception: an exception in the IDL's throws; app_exception: Thrift's own exception, "
              "from the server; local_error: hatrpcd itself answered; unknown: the caller disconnected.", "reqps",
              (f'sum by (outcome) ({rate("hatrpc_requests_total", SIDED)})', "{{outcome}}"), stacked=True),
        graph("Answered by hatrpcd itself",
              "docs/reference.md (When hatrpcd answers itself) says what to do for each reason.", "reqps",
              (f'sum by (reason) ({rate("hatrpc_local_replies_total", NODE)})', "{{reason}}"), stacked=True),
    ],
    "Functions": [
        graph("Calls", "By function, on the chosen side.", "reqps",
              (f'{BY_FUNCTION} ({rate("hatrpc_requests_total", SIDED)})', FUNCTION_NAME)),
        graph("Median latency",
              "From a call's first byte in to its reply's last byte out. Estimated from buckets in powers of two: "
              "within a factor of two, or less exact with a shorter admin.duration_buckets.", "s", (quantile(0.5), FUNCTION_NAME)),
        graph("99th percentile of latency",
              "As for the median. On the client's side it includes the link and the peer daemon.",
              "s", (quantile(0.99), FUNCTION_NAME)),
        graph("Errors",
              "Calls that ended with Thrift's own exception, that hatrpcd itself answered, or whose caller left.",
              "reqps", (f'{BY_FUNCTION} ({rate("hatrpc_requests_total", ERRORS)})', FUNCTION_NAME)),
        graph("In flight", "Calls that have not ended yet.", "none",
              (f"{BY_FUNCTION} (hatrpc_requests_in_flight{SIDED})", FUNCTION_NAME)),
        graph("Bytes", "Bytes of requests and of replies.", "Bps",
              (f'{BY_FUNCTION} ({rate("hatrpc_request_bytes_total", SIDED)})', f"{FUNCTION_NAME} requests"),
              (f'{BY_FUNCTION} ({rate("hatrpc_response_bytes_total", SIDED)})', f"{FUNCTION_NAME} replies")),
        heatmap("Latencies", "How many calls of the chosen functions took how long.",
                f'sum by (le) ({rate("hatrpc_request_duration_seconds_bucket", SIDED)})'),
        graph("What carries calls",
              "Calls that ended, as the caller's host counts them: the protocol that carried the request / the one that "
              "carried the reply (none: there was none), and the fabric. tcp: the link's TCP connection.", "reqps",
              (f'sum by (request_protocol, reply_protocol, fabric) ({rate("hatrpc_calls_total", ONE_SIDED)})',
               "{{request_protocol}} / {{reply_protocol}} on {{fabric}}"), width=12, stacked=True, height=9),
        table("Plans", "The plan of each function on each node; `hatctl routes` gives the reasons.",
              f"hatrpc_route_info{SIDED}",
              {"thrift_service": "Service", "thrift_method": "Function", "side": "Side", "plan": "Plan",
               "instance": "Node"}),
    ],
    "Fallbacks to TCP": [
        graph("By reason",
              "Calls that used TCP although their plan wants RDMA. docs/reference.md (When a call misses RDMA) says "
              "what to do for each reason; `opening` is normal after a start or a pause.", "reqps",
              (f'sum by (reason) ({rate("hatrpc_fallbacks_total", ONE_SIDED)})', "{{reason}}"), stacked=True),
        graph("By function", "The same calls.", "reqps",
              (f'{BY_FUNCTION} ({rate("hatrpc_fallbacks_total", ONE_SIDED)})', FUNCTION_NAME)),
        graph("By node", "The same calls.", "reqps",
              (f'sum by (instance) ({rate("hatrpc_fallbacks_total", ONE_SIDED)})', "{{instance}}")),
    ],
    "Peers": [
        states("Links", "Up: at least one worker's link to the peer is up.",
               (f"hatrpc_peer_up{PEER}", "{{instance}} → {{peer}}")),
        graph("RDMA lanes", "By peer, protocol and state: up, or the reason why calls use TCP.", "none",
              (f"sum by (peer, protocol, state) (hatrpc_lanes{PEER})", "{{peer}} {{protocol}}: {{state}}"),
              width=12, height=7),
        graph("Links built",
              "Links built within five minutes, less those that ended because no client needed them; normally none. If a "
              "link breaks, the calls on it fail.",
              "none", (f"sum by (instance, peer) (increase(hatrpc_peer_sessions_total{PEER}[5m])) - "
                       f"(sum by (instance, peer) (increase(hatrpc_idle_links_ended_total{PEER}[5m])) or "
                       f"0 * sum by (instance, peer) (increase(hatrpc_peer_sessions_total{PEER}[5m])))",
                       "{{instance}} → {{peer}}"), width=12, height=7),
        graph("Peers that fail",
              "Retries: calls that were sent again after a failure, mostly to another peer. Ejections: times in which "
              "calls prefer other peers (docs/discovery.md). Resumes: connections that continued over TCP after the "
              "loss of their RDMA lane (docs/link.md).", "none",
              (f'sum by (instance) (increase(hatrpc_retries_total{NODE}[5m]))', "{{instance}}: retries"),
              (f'sum by (instance, peer) (increase(hatrpc_peer_ejections_total{PEER}[5m]))',
               "{{instance}} → {{peer}}: ejections"),
              (f'sum by (instance, peer) (increase(hatrpc_streams_resumed_total{PEER}[5m]))',
               "{{instance}} → {{peer}}: resumes"), width=12, height=7),
        graph("Slow peers",
              "1: clients prefer other peers, because calls at this one take much longer (docs/discovery.md). "
              "`hatctl peers` shows for which endpoints, and how much longer.", "none",
              (f"hatrpc_peer_slow{PEER}", "{{instance}} → {{peer}}"), width=12, height=7),
        graph("Bytes sent from rings without a copy",
              "Bytes that RDMA lanes sent directly from the rings of applications.", "Bps",
              (f'sum by (instance) ({rate("hatrpc_zero_copy_bytes_total", NODE)})', "{{instance}}"),
              width=12, height=7),
    ],
    "Connections": [
        graph("Of clients", "Connections of clients that are open.", "none",
              (f"sum by (instance) (hatrpc_connections_open{NODE})", "{{instance}}")),
        graph("Accepted, refused, taken over",
              "Refused: limits.max_connections is reached, or hatrpcd drains. Taken over: from the previous hatrpcd "
              "(docs/upgrade.md).", "cps",
              (f'sum by (instance) ({rate("hatrpc_connections_accepted_total", NODE)})', "{{instance}} accepted"),
              (f'sum by (instance) ({rate("hatrpc_connections_refused_total", NODE)})', "{{instance}} refused"),
              (f'sum by (instance) ({rate("hatrpc_connections_taken_over_total", NODE)})', "{{instance}} taken over")),
        graph("To local servers",
              "Open connections; attempts to connect per second; failed addresses that connections began to avoid.", "none",
              (f"sum by (instance) (hatrpc_upstream_connections_open{NODE})", "{{instance}} open"),
              (f'sum by (instance) ({rate("hatrpc_upstream_connects_total", NODE)})', "{{instance}} attempts"),
              (f'sum by (instance) ({rate("hatrpc_upstream_ejections_total", NODE)})', "{{instance}} avoided")),
        graph("Held for slow readers", "Bytes that hatrpcd holds; each worker at most limits.max_buffered.", "bytes",
              (f"sum by (instance) (hatrpc_buffered_bytes{NODE})", "{{instance}}")),
        graph("Oneway calls lost", "Oneway calls that hatrpcd could not deliver. Their callers get no error.", "reqps",
              (f'sum by (instance) ({rate("hatrpc_oneway_dropped_total", NODE)})', "{{instance}}")),
        graph("Not followed",
              "Connections that hatrpcd carries byte for byte (TLS, SASL, HTTP, not Thrift), and replies for which no "
              "call waits.",
              "cps", (f'sum by (instance) ({rate("hatrpc_opaque_streams_total", NODE)})', "{{instance}} opaque"),
              (f'sum by (instance) ({rate("hatrpc_unsolicited_replies_total", NODE)})', "{{instance}} unsolicited")),
    ],
    "Security": [
        graph("Certificates are good for",
              "Remaining validity of each node's certificate. It jumps up when the certificate is renewed; at 0 the "
              "node cannot make new links.", "s",
              (f"{ENDS}{OWN} - time()", "{{instance}} {{subject}}")),
        graph("CAs are good for",
              "Remaining validity of each node's CA that ends last. Without a valid CA a node accepts no peer.", "s",
              (f"max by (instance) ({ENDS}{AUTHORITY}) - time()", "{{instance}}")),
        graph("Nodes with insecure links",
              "Nodes with `insecure: true`: their links are neither encrypted nor authenticated.", "none",
              (f"sum by (instance) (hatrpc_insecure_links{NODE})", "{{instance}}"), stacked=True),
        graph("TLS handshakes", "Successful handshakes of links, on either side.", "cps",
              (f'sum by (instance) ({rate("hatrpc_tls_handshakes_total", NODE)})', "{{instance}}")),
        graph("TLS handshakes that failed",
              "docs/security.md (When a handshake fails) says what to do for each reason; health checks and scans "
              "often cause `closed` and `unfinished`.", "cps",
              (f'sum by (instance, reason) ({rate("hatrpc_tls_handshake_failures_total", NODE)})',
               "{{instance}} {{reason}}")),
        graph("Calls that `allow` does not have",
              "Calls on the server's host that no `allow` rule permits. enforce: refused with permission_denied; "
              "dry_run: served anyway.", "reqps",
              (f'sum by (thrift_service, thrift_method, mode) ({rate("hatrpc_authz_denied_total", ONE_SIDED)})',
               f"{FUNCTION_NAME} {{{{mode}}}}")),
    ],
    "Nodes": [
        graph("Processor", "Cores that hatrpcd uses. Busy polling uses up to one core for each worker.", "none",
              (rate("process_cpu_seconds_total", NODE), "{{instance}}"),
              (f"hatrpc_workers{NODE}", "{{instance}} workers")),
        graph("Resident memory", "Resident memory, including the memory that is pinned for RDMA lanes.", "bytes",
              (f"process_resident_memory_bytes{NODE}", "{{instance}}")),
        graph("File descriptors", "Open descriptors, as a share of the limit.", "percentunit",
              (f"process_open_fds{NODE} / process_max_fds{NODE}", "{{instance}}")),
        graph("Series", "Series that each node exports; docs/monitoring.md (How many series) says what determines them.",
              "none", (f"hatrpc_metrics_series{NODE}", "{{instance}}"),
              (f"sum by (instance) (hatrpc_functions_summed{NODE})", "{{instance}}: summed functions")),
        graph("Time for a page of metrics", "Time that the main thread needs for a scrape.", "s",
              (f"hatrpc_metrics_page_seconds{NODE}", "{{instance}}")),
        graph("Generation of the routes", "Grows by one with each reload that is applied.", "none",
              (f"hatrpc_routes_generation{NODE}", "{{instance}}")),
        graph("Reloads", "Reloads within five minutes, by result.", "none",
              (f"sum by (instance, result) (increase(hatrpc_config_reloads_total{NODE}[5m]))",
               "{{instance}} {{result}}")),
        graph("Access log", "Calls in the file access_log.path, and calls that should be there and are not.", "none",
              (rate("hatrpc_access_log_lines_total", NODE), "{{instance}} lines"),
              (f'sum by (instance, reason) ({rate("hatrpc_access_log_dropped_total", NODE)})',
               "{{instance}} dropped: {{reason}}")),
        graph("Running for", "Time since the process started.", "s",
              (f"time() - process_start_time_seconds{NODE}", "{{instance}}")),
        table("Daemons", "The version of each node, one row for each.", f"hatrpc_build_info{NODE}",
              {"instance": "Node", "version": "Version", "job": "Job"}, width=12),
        states("Taking calls", "Down while a node drains.", (f"1 - hatrpc_draining{NODE}", "{{instance}}")),
    ],
}


def query_variable(name, label, query):
    return {"name": name, "label": label, "type": "query", "datasource": SOURCE, "definition": query,
            "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1, "multi": True, "includeAll": True,
            "allValue": ".*", "current": {"text": ["All"], "value": ["$__all"]}, "hide": 0}


VARIABLES = [
    {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "hide": 0},
    query_variable("job", "Job", "label_values(hatrpc_build_info, job)"),
    query_variable("instance", "Node", 'label_values(hatrpc_build_info{job=~"$job"}, instance)'),
    query_variable("service", "Service",
                   'label_values(hatrpc_requests_total{instance=~"$instance"}, thrift_service)'),
    query_variable("function", "Function",
                   'label_values(hatrpc_requests_total{instance=~"$instance", thrift_service=~"$service"}, thrift_method)'),
    {"name": "side", "label": "Side", "type": "custom", "query": "client,server", "hide": 0,
     "current": {"text": "client", "value": "client"},
     "options": [{"text": side, "value": side, "selected": side == "client"} for side in ("client", "server")]},
    query_variable("peer", "Peer", 'label_values(hatrpc_peer_up{instance=~"$instance"}, peer)'),
]


def annotation(name, colour, expr, text):
    return {"name": name, "enable": True, "iconColor": colour, "datasource": SOURCE, "expr": expr,
            "step": "1m", "titleFormat": name, "textFormat": text}


ANNOTATIONS = [
    annotation("Restart", "orange", f"changes(process_start_time_seconds{NODE}[2m]) > 0", "hatrpcd on {{instance}} was started"),
    annotation("Reload", "blue", f"changes(hatrpc_routes_generation{NODE}[2m]) > 0", "{{instance}} has new routes"),
]


def thresholds(steps):
    return {"mode": "absolute", "steps": [{"value": value, "color": colour} for value, colour in steps]}


def field_config(spec):
    defaults = {"unit": spec["unit"], "min": 0, "mappings": spec.get("mappings", [])}
    if spec.get("steps"):
        defaults["thresholds"] = thresholds(spec["steps"])
        defaults["color"] = {"mode": "thresholds"}
    if spec["type"] == "timeseries":
        defaults["custom"] = {"fillOpacity": 25 if spec["stacked"] else 5, "lineWidth": 1, "showPoints": "never",
                              "stacking": {"mode": "normal" if spec["stacked"] else "none"}}
    return {"defaults": defaults, "overrides": []}


def make_panel(spec, number, x, y):
    panel = {"id": number, "type": spec["type"], "title": spec["title"], "description": spec["description"],
             "datasource": SOURCE, "gridPos": {"x": x, "y": y, "w": spec["width"], "h": spec["height"]},
             "fieldConfig": field_config(spec), "options": spec["options"],
             "targets": [{"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": expr, "legendFormat": legend,
                          "format": "table" if spec.get("instant") else spec.get("format", "time_series"),
                          "instant": spec.get("instant", False), "range": not spec.get("instant", False)}
                         for i, (expr, legend) in enumerate(spec["targets"])]}
    if "columns" in spec:
        panel["transformations"] = [
            {"id": "filterFieldsByName", "options": {"include": {"names": list(spec["columns"])}}},
            {"id": "organize", "options": {"renameByName": spec["columns"],
                                           "indexByName": {name: i for i, name in enumerate(spec["columns"])}}}]
    return panel


def make_panels():
    panels, y = [], 0
    for title, specs in ROWS.items():
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "collapsed": False, "panels": [],
                       "gridPos": {"x": 0, "y": y, "w": WIDTH, "h": 1}})
        x, y, height = 0, y + 1, 0
        for spec in specs:
            if x + spec["width"] > WIDTH:
                x, y, height = 0, y + height, 0
            panels.append(make_panel(spec, len(panels) + 1, x, y))
            x, height = x + spec["width"], max(height, spec["height"])
        y += height
    return panels


DASHBOARD = {
    "uid": "hatrpc", "title": "hatrpc", "tags": ["hatrpc", "rdma", "thrift"], "schemaVersion": 38, "version": 1,
    "description": "Thrift calls that hatrpcd carries: by node, function and peer, and the calls that miss RDMA. "
                   "Written by deploy/monitoring/dashboard.py.",
    "editable": True, "graphTooltip": 1, "refresh": "30s", "time": {"from": "now-1h", "to": "now"},
    "timezone": "browser", "annotations": {"list": ANNOTATIONS}, "templating": {"list": VARIABLES},
    "panels": make_panels(),
}

if __name__ == "__main__":
    print(json.dumps(DASHBOARD, indent=1, ensure_ascii=False))
