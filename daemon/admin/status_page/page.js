// SPDX-License-Identifier: Apache-2.0
// daemon/admin/status_page/page.js: asks hatrpcd every two seconds, and shows what it says.
//
// Whatever came over the network becomes text by textContent alone.

const POLL_MS = 2000;
const TIMEOUT_MS = 5000;
const HISTORY = 90;  // looks that a tile's line shows
const SLOW_SHOWN = 10;  // calls
const ADVICE_EVERY = 5;  // looks; hatrpcd makes new plans for each answer

const at = (id) => document.getElementById(id);

function add(parent, tag, text = "", className = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  element.className = className;
  parent.append(element);
  return element;
}

// What did not change is left alone: a selection in it stays, and no screen reader says it again.
function write(element, text, className = element.className) {
  if (element.textContent !== text) element.textContent = text;
  if (element.className !== className) element.className = className;
}

// --- Tables -------------------------------------------------------------------------------------

// The table of one section, which is hidden while it has no row. A column: {name, text(row)}, and if it has them
// number: true, tone(row): a class, order(row): what to sort by. A row's element stays while its key does.
class Table {
  constructor(id, columns, keyOfRow) {
    this.section = at(id);
    this.columns = columns;
    this.keyOfRow = keyOfRow;
    this.rows = [];
    this.elements = new Map();
    this.sorted = null;  // {column, descending}
    const table = this.section.querySelector("table");
    table.setAttribute("aria-labelledby", `${id}-heading`);
    const head = add(add(table, "thead"), "tr");
    for (const column of columns) this.addHeading(head, column);
    this.body = add(table, "tbody");
    this.show([]);
  }

  addHeading(head, column) {
    const cell = add(head, "th", column.order ? "" : column.name, column.number ? "number" : "");
    cell.scope = "col";
    column.heading = cell;
    if (!column.order) return;
    const button = add(cell, "button", column.name);
    button.type = "button";
    button.addEventListener("click", () => {
      const again = this.sorted?.column === column;
      this.sort(column, again ? !this.sorted.descending : column.number === true);
      this.show(this.rows);
    });
  }

  sort(column, descending) {
    this.sorted?.column.heading.removeAttribute("aria-sort");
    this.sorted = {column, descending};
    column.heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  }

  inOrder(rows) {
    if (!this.sorted) return rows;
    const {column: {order}, descending} = this.sorted;
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return [...rows].sort((a, b) => (descending ? compare(order(b), order(a)) : compare(order(a), order(b)))
        || compare(this.keyOfRow(a), this.keyOfRow(b)));
  }

  show(rows) {
    this.rows = rows;
    this.section.hidden = rows.length === 0;
    const keys = new Set(rows.map(this.keyOfRow));
    for (const [key, element] of this.elements) {
      if (keys.has(key)) continue;
      element.remove();
      this.elements.delete(key);
    }
    let next = this.body.firstElementChild;
    for (const row of this.inOrder(rows)) {
      const element = this.elementOf(this.keyOfRow(row));
      if (element === next) {
        next = next.nextElementSibling;
      } else {
        this.body.insertBefore(element, next);
      }
      this.columns.forEach((column, i) => write(
          element.children[i], column.text(row),
          [column.number ? "number" : "", column.tone?.(row) ?? ""].join(" ").trim()));
    }
  }

  elementOf(key) {
    if (!this.elements.has(key)) {
      const row = document.createElement("tr");
      this.columns.forEach((_, i) => add(row, i === 0 ? "th" : "td"));
      row.firstElementChild.scope = "row";
      this.elements.set(key, row);
    }
    return this.elements.get(key);
  }
}

const MISSED = {
  no_fabric: "this node has no RDMA fabric, or its configuration disables RDMA",
  peer_has_none: "the peer daemon has no RDMA lanes",
  opening: "the lane is being opened, as for the first calls after a start or a pause",
  refused: "the lane cannot be opened; its last error is in the table above",
  down: "the lane failed; hatrpcd opens it again after a pause",
  settling: "the lane failed, and has not been up for limits.lane_settle yet",
  unanswered: "earlier calls on the connection used TCP and have no reply yet",
};
const ANSWERED = {
  peer_unreachable: "no link to the peer daemon; the server did not see the call",
  link_lost: "the link broke during the call; the server may have seen the call",
  unknown_service: "the peer daemon does not serve this service",
  upstream_unreachable: "the server cannot be reached; the server did not see the call",
  upstream_closed: "the server closed its connection; the server may have seen the call",
  deadline_exceeded: "the deadline passed; the server may have seen the call",
  too_large: "larger than limits.max_message",
  overloaded: "a limit is reached; the server did not see the call",
  permission_denied: "the manifest's allow does not permit this caller; the server did not see the call",
  not_one_message: "the request is not one whole Thrift message (mode: shared); the server did not see the request",
  draining: "shutting down; the server did not see the call",
};

const number = (name, of, text) => ({name, number: true, order: (row) => of(row) ?? -1,
                                     text: (row) => text(of(row))});
const quiet = () => "quiet";

const rates = new Table("rates", [
  {name: "Function", text: (f) => f.name, order: (f) => f.name},
  {name: "Side", text: (f) => f.side},
  number("Calls/s", (f) => f.calls, countText),
  {name: "P50", number: true, text: (f) => timeText(f.p50), order: (f) => f.p50?.us ?? -1},
  {name: "P99", number: true, text: (f) => timeText(f.p99), order: (f) => f.p99?.us ?? -1},
  {...number("Errors/s", (f) => f.errors, countText), tone: (f) => (f.errors > 0 ? "bad" : "")},
  {...number("Over TCP/s", (f) => f.missed, countText), tone: (f) => (f.missed > 0 ? "warn" : "")},
  number("In/s", (f) => f.bytesIn, bytesText),
  number("Out/s", (f) => f.bytesOut, bytesText),
  number("Now", (f) => f.in_flight, String),
], keyOf);
rates.sort(rates.columns[2], true);

const partOf = (name, key) => ({name, number: true, text: (s) => partText(s[key]), order: (s) => s[key] ?? -1});
const slow = new Table("slow", [
  {name: "Function", text: (s) => s.name, order: (s) => s.name},
  {name: "Peer", text: (s) => s.peer || UNKNOWN, order: (s) => s.peer},
  {name: "Ago", number: true, text: (s) => ageText(s.age), order: (s) => s.age},
  partOf("Took", "took_us"),
  partOf("Waited", "waited_us"),
  partOf("Wire", "wire_us"),
  partOf("Peer's daemon", "peer_us"),
  partOf("Server", "server_us"),
  partOf("Reply", "reply_us"),
  {name: "Result", text: (s) => s.reason ?? s.outcome, tone: (s) => (s.outcome === "success" ? "quiet" : "bad")},
], (s) => s.key);
slow.sort(slow.columns[3], true);

const WAITS_FOR = {
  to_be_sent: "a link, a lane or space",
  rest_of_request: "the rest of the request",
  reply: "the reply",
  rest_of_reply: "the rest of the reply",
};
const waiting = new Table("waiting", [
  {name: "Function", text: (w) => w.name, order: (w) => w.name},
  {name: "Peer", text: (w) => w.peer || UNKNOWN, order: (w) => w.peer},
  {name: "Worker", number: true, text: (w) => String(w.worker), order: (w) => w.worker},
  {name: "Connections", number: true, text: (w) => String(w.calls), order: (w) => w.calls},
  partOf("Oldest", "oldest_us"),
  {name: "Waits for", text: (w) => (WAITS_FOR[w.waits_for] ?? w.waits_for)
      + (w.may_be_oneway ? ", if it is not oneway" : "")},
], (w) => JSON.stringify([w.name, w.peer, w.worker, w.waits_for]));
waiting.sort(waiting.columns[4], true);

const avoided = new Table("avoided", [
  {name: "Peer", text: (a) => a.peer},
  {name: "Endpoint", text: (a) => a.endpoint},
  {name: "Worker", number: true, text: (a) => String(a.worker)},
  {name: "Now", text: avoidedText, tone: (a) => (a.state === "failing" ? "" : "warn")},
  {name: "Last failure", text: (a) => a.why, tone: quiet},
], (a) => JSON.stringify([a.peer, a.endpoint, a.worker, a.state === "slow"]));

const links = new Table("links", [
  {name: "Peer", text: (l) => l.peer},
  {name: "Address", text: (l) => l.address},
  {name: "State", tone: (l) => (l.up === l.needed ? "good" : l.up === 0 ? "bad" : "warn"),
   text: (l) => (l.up === l.needed ? "up" : l.up === 0 ? "down" : `${l.up} of ${l.needed} up`)},
  {name: "Identity", text: (l) => identityText(l.names, l.up), tone: quiet},
  {name: "Built", number: true, text: (l) => String(l.sessions)},
  {name: "Last error", text: (l) => (l.up < l.needed ? l.error : ""), tone: quiet},
], (l) => l.peer);

const lanes = new Table("lanes", [
  {name: "Peer", text: (l) => l.peer},
  {name: "Protocol", text: (l) => l.protocol},
  {name: "Class", text: (l) => l.class},
  {name: "State", text: (l) => l.state,
   tone: (l) => (l.state === "up" ? "good" : l.state === "opening" ? "" : "warn")},
  {name: "Lanes", number: true, text: (l) => String(l.count)},
  {name: "Last error", text: (l) => l.last_error, tone: quiet},
], (l) => l.key);

const misses = new Table("misses", [
  {name: "Function", text: (m) => m.name},
  {name: "Reason", text: (m) => m.reason},
  {name: "Calls", number: true, text: (m) => countText(m.calls)},
  {name: "Per second", number: true, text: (m) => countText(m.rate),
   tone: (m) => (m.rate > 0 && m.reason !== "opening" ? "warn" : "")},
  {name: "Meaning", text: (m) => MISSED[m.reason] ?? "", tone: quiet},
], (m) => JSON.stringify([m.name, m.reason]));

const replies = new Table("replies", [
  {name: "Answer", text: (r) => r.token},
  {name: "Calls", number: true, text: (r) => countText(r.calls)},
  {name: "Per second", number: true, text: (r) => countText(r.rate),
   tone: (r) => (r.rate > 0 ? "bad" : "")},
  {name: "Meaning", text: (r) => ANSWERED[r.token] ?? "", tone: quiet},
], (r) => r.token);

const plans = new Table("plans", [
  {name: "Function", text: (p) => p.name + (p.oneway ? "\noneway" : "")},
  {name: "Plan", text: (p) => bothSides(p, planText)},
  {name: "Why", text: (p) => bothSides(p, (plan) => plan.reason) + (p.origin ? `\n${p.origin}` : ""),
   tone: quiet},
  {name: "Carried", text: (p) => p.carried},
], (p) => p.name);

const advice = new Table("advice", [
  {name: "Function", text: (a) => a.name},
  {name: "Change", text: (a) => a.edit},
  {name: "Seen", text: (a) => a.evidence, tone: quiet},
  {name: "Gain", text: (a) => a.gain, tone: quiet},
], (a) => JSON.stringify([a.name, a.edit]));

const places = new Table("places", [
  {name: "Service", text: (p) => p.service},
  {name: "Address", text: (p) => p.address},
  {name: "What it is", text: (p) => p.what, tone: quiet},
], (p) => JSON.stringify([p.service, p.address]));

function partText(us) {
  return timeText(us === null ? null : {us, atLeast: false});
}

function avoidedText({state, left_s: left, failures, times}) {
  return {slow: `slow: calls take ${times}${times < 16 ? "" : " or more"} times as long`,
          ejected: `ejected for ${partText(left * 1e6)}`, due: "ejected until the next call, a trial", tried: "on trial",
          failing: `used; ${plural(failures, "failure")} in a row`}[state] ?? state;
}

function planText(plan) {
  return plan.plan + (plan.timeout_ms === null ? "" : `, timeout ${plan.timeout_ms} ms`)
      + (plan.idempotent ? ", idempotent" : "");
}

function bothSides(route, text) {
  const [client, server] = [text(route.client), text(route.server)];
  const sides = client === server ? client : `client: ${client}\nserver: ${server}`;
  return Object.entries(route.client_to ?? {}).reduce(
      (all, [peer, plan]) => text(plan) === client ? all : `${all}\nto ${peer}: ${text(plan)}`, sides);
}

// --- Tiles --------------------------------------------------------------------------------------

class Tile {
  constructor(name, unit) {
    const tile = add(at("tiles"), "div", "", "tile");
    add(tile, "p", name, "label");
    this.value = add(tile, "p", UNKNOWN, "value");
    this.tile = tile;
    this.unit = unit;
    this.past = [];
    const shape = (parent, tag) =>
        parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", tag));
    const svg = shape(tile, "svg");
    svg.setAttribute("viewBox", `0 0 ${HISTORY - 1} 30`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    this.area = shape(svg, "polygon");
    this.line = shape(svg, "polyline");
  }

  show(value, text, tone = "") {
    this.tile.className = `tile ${tone}`;
    if (this.value.firstChild.textContent !== text) {
      this.value.textContent = text;
      if (this.unit) add(this.value, "small", ` ${this.unit}`);
    }
    if (value === null) return;
    this.past = [...this.past, value].slice(-HISTORY);
    const highest = Math.max(...this.past, 1e-9);
    const first = HISTORY - this.past.length;
    const points = this.past.map((one, i) => `${first + i},${(28 - 25 * one / highest).toFixed(2)}`);
    this.line.setAttribute("points", points.join(" "));
    this.area.setAttribute("points", [`${first},30`, ...points, `${HISTORY - 1},30`].join(" "));
  }
}

const tiles = {
  client: new Tile("Calls from clients here", "/s"),
  server: new Tile("Calls to servers here", "/s"),
  errors: new Tile("Errors", "/s"),
  missed: new Tile("Calls that miss RDMA", "/s"),
  inFlight: new Tile("Calls in flight", ""),
  connections: new Tile("Connections of clients", ""),
};

function showTiles(functions, status) {
  const sum = (rows, of) =>
      rows.some((row) => of(row) === null) ? null : rows.reduce((all, row) => all + of(row), 0);
  const side = (name) => functions.filter((f) => f.side === name);
  const show = (tile, value, tone = "") => tile.show(value, countText(value), value > 0 ? tone : "");
  show(tiles.client, sum(side("client"), (f) => f.calls));
  show(tiles.server, sum(side("server"), (f) => f.calls));
  show(tiles.errors, sum(functions, (f) => f.errors), "bad");
  show(tiles.missed, sum(side("client"), (f) => f.missed), "warn");
  show(tiles.inFlight, sum(functions, (f) => f.in_flight));
  show(tiles.connections, status.connections_open);
}

// --- The parts of the page ----------------------------------------------------------------------

function showHead(status) {
  const pending = status.pending.join(", ");
  document.title = `${pending ? "✗ " : ""}${status.node} · hatrpcd`;
  write(at("node"), status.node);
  write(at("state"), pending ? `not ready: ${pending}` : "ready", pending ? "chip bad" : "chip good");
  const reload = status.last_reload;
  const facts = {
    hatrpcd: `${status.version}, pid ${status.pid}`,
    running: `for ${ageText(status.uptime_s)}, ${plural(status.workers, "worker")}`,
    fabric: status.fabric,
    links: securityText(status),
    routes: `generation ${status.generation}, read ${ageText(Date.now() / 1000 - reload.unix_time)} ago`,
    connections: `${status.connections_open} of clients, ${status.upstream_connections_open} to servers, `
        + `${bytesText(status.buffered_bytes)} held for slow readers`,
  };
  Object.entries(facts).forEach(([name, text], i) => {
    const fact = at("about").children[i] ?? add(at("about"), "div");
    if (!fact.children.length) {
      add(fact, "dt", name);
      add(fact, "dd");
    }
    write(fact.children[1], text);
  });
}

// Each is said once by a screen reader: its text changes only with what it says.
function showNotices(notices) {
  const box = at("notices");
  while (box.children.length > notices.length) box.lastElementChild.remove();
  notices.forEach(({text, tone}, i) => write(box.children[i] ?? add(box, "p"), text, `notice ${tone}`));
}

function noticesOf(status) {
  const notices = [];
  if (status.state === "draining") {
    notices.push({tone: "warn", text: "Draining: new calls are refused, and the calls in flight are finished."});
  }
  if (!status.last_reload.successful) {
    notices.push({tone: "bad", text: "The last reload was refused, and the configuration before it stays in use. "
        + `hatctl reload --dry-run lists all errors.\n${status.last_reload.error}`});
  }
  for (const name of status.names.filter((one) => one.error)) {
    notices.push({tone: name.addresses.length ? "warn" : "bad",
                  text: `${name.name} cannot be looked up: ${name.error}. `
                      + (name.addresses.length ? "Its last good answer is used." : "None of its addresses is known.")});
  }
  notices.push(...securityNotices(status));
  return notices;
}

// Every worker has its own link to each peer that its clients need: one row a peer. The same lanes of several workers are one row too.
function showLinks(status) {
  const peers = new Map();
  const kinds = new Map();
  for (const link of status.links) {
    const row = peers.get(link.peer)
        ?? {peer: link.peer, address: link.address, up: 0, needed: 0, sessions: 0, names: [], error: ""};
    peers.set(link.peer, row);
    row.up += link.up ? 1 : 0;
    row.needed += link.state === "idle" ? 0 : 1;
    row.sessions += link.sessions;
    row.error ||= link.last_error;
    if (link.peer_names.length > 0) row.names = link.peer_names;
    for (const lane of link.lanes) {
      const key = JSON.stringify([link.peer, lane.protocol, lane.class, lane.state, lane.last_error]);
      const kind = kinds.get(key) ?? {...lane, key, peer: link.peer, count: 0};
      kinds.set(key, kind);
      kind.count += 1;
    }
  }
  links.show([...peers.values()]);
  lanes.show([...kinds.values()]);
}

function showPlaces(status) {
  places.show([
    ...status.endpoints.map((e) => ({service: e.service, address: e.listen,
                                     what: `endpoint for clients here, to ${e.peers.join(", ")}`})),
    ...status.serves.map((s) => ({service: s.service, address: s.upstream,
                                  what: `server that peers may call, ${s.mode}`})),
  ]);
}

function showReplies(before, after) {
  const counts = after.status.local_replies;
  replies.show(Object.entries(counts).filter(([, calls]) => calls > 0).map(([token, calls]) => ({
    token, calls,
    rate: before ? (calls - before.status.local_replies[token]) / (after.at - before.at) : null,
  })));
}

// Returns what carried calls: one protocol, or those of requests and of replies if they differ.
function wayText({request_protocol: request, reply_protocol: reply}) {
  if (reply === request) return request;
  return reply === "none" ? `${request}, without a reply` : `${request} / ${reply}`;
}

// Returns a change of a hint as the manifest has it, for example "c_hint: payload_size 64KiB → 128B".
function editText({group, key, from, to}) {
  return `${group}: ${key} ${from ?? "not set"} → ${to ?? "remove"}`;
}

function showAdvice({proposals}) {
  advice.show(proposals.map((one) => ({...one, name: `${one.service}.${one.function}`,
                                       edit: one.changes.map(editText).join("\n")})));
}

// `calls` has the slowest one first. The same call keeps its row. `unanswered` has the oldest one first.
function showSlow({slow: calls, waiting: unanswered = [], waiting_left_out: leftOut = 0}) {
  waiting.show(unanswered.slice(0, SLOW_SHOWN).map((one) => ({...one, name: `${one.service}.${one.method}`})));
  const rest = Math.max(0, unanswered.length - SLOW_SHOWN) + leftOut;
  write(at("waiting-rest"), rest > 0 ? `${rest} more` : "");
  const now = Date.now() / 1000;
  slow.show(calls.slice(0, SLOW_SHOWN).map((call, i) => ({
    ...call, name: `${call.service}.${call.method}`, age: now - call.unix_time,
    key: JSON.stringify([call.service, call.method, call.peer, call.worker, call.took_us, i])})));
  write(at("slow-rest"), calls.length > SLOW_SHOWN ? `${calls.length - SLOW_SHOWN} more` : "");
}

function showAvoided({peers}) {
  avoided.show(peers.flatMap(({peer, avoided: all}) => all.map((one) => ({...one, peer}))));
}

function carriedText(f) {
  return (f?.carried ?? []).map((one) => `${countText(one.calls)} by ${wayText(one)}`).join("\n");
}

function showFunctions(functions, routes) {
  const wanted = at("filter").value.trim().toLowerCase();
  const fits = (row) => row.name.toLowerCase().includes(wanted);
  rates.show(functions.filter(fits));
  rates.section.hidden = false;
  const filtered = functions.length - rates.rows.length;
  const called = new Set(functions.map((f) => f.name));  // on either side
  const never = routes.services.flatMap(({service, functions: all}) => all.filter(
      (route) => !called.has(`${service}.${route.method}`))).length;
  write(at("rates-rest"), [filtered ? `${filtered} hidden by the filter` : "",
                           never ? `${never} never called` : ""].filter(Boolean).join(", "));

  const client = functions.filter((f) => f.side === "client");
  misses.show(client.filter(fits).flatMap((f) => Object.entries(f.fallbacks).map(
      ([reason, calls]) => ({name: f.name, reason, calls, rate: f.missedBy(reason)}))));

  const byName = new Map(client.map((f) => [f.name, f]));
  plans.show(routes.services.flatMap(({service, functions: some}) => some.map((route) => {
    const name = `${service}.${route.method}`;
    return {...route, name, carried: carriedText(byName.get(name))};
  })).filter(fits));
}

// --- Looking ------------------------------------------------------------------------------------

let last = null;  // {at, status, functions, routes, rates}; null: nothing was heard yet
let looks = 0;

async function ask(path) {
  const answer = await fetch(path, {cache: "no-store", signal: AbortSignal.timeout(TIMEOUT_MS)});
  if (!answer.ok) throw Object.assign(new Error(`/${path} answers ${answer.status}`), {status: answer.status});
  return answer.json();
}

// Calls show() with the answer, or with `none` if hatrpcd is an older one, to which an operator has returned, that
// does not know the path. After any other error the page keeps what it shows.
async function showIfKnown(path, none, show) {
  const answer = await ask(path).catch((error) => (error.status === 404 ? none : null));
  if (answer !== null) show(answer);
}

async function look() {
  const [status, functions] = await Promise.all([ask("status"), ask("functions?called=1")]);
  const now = {at: performance.now() / 1000, status, functions};
  const same = last?.status.start_unix_time === status.start_unix_time;  // or it was started again
  const before = same ? last : null;
  now.routes = same && last.status.generation === status.generation ? last.routes : await ask("routes");
  now.rates = ratesBetween(before, now);
  last = now;
  show(before, now);
  await Promise.all([showIfKnown("slow", {slow: []}, showSlow),
                     showIfKnown("peers?avoided=1", {peers: []}, showAvoided)]);
  if (looks++ % ADVICE_EVERY === 0) await showIfKnown("advice", {proposals: []}, showAdvice);
}

function show(before, now) {
  document.body.classList.remove("stale");
  showHead(now.status);
  showNotices(noticesOf(now.status));
  showTiles(now.rates, now.status);
  showLinks(now.status);
  showReplies(before, now);
  showPlaces(now.status);
  showFunctions(now.rates, now.routes);
  write(at("seen"), `as of ${new Date().toLocaleTimeString()}`);
}

// What was shown stays, greyed: it is often what one wants to know now.
function showLost(error) {
  if (document.body.classList.contains("stale")) return;
  document.body.classList.add("stale");
  document.title = `✗ ${last?.status.node ?? "hatrpcd"} does not answer`;
  write(at("state"), "does not answer", "chip bad");
  const since = last ? `The values shown are from ${new Date().toLocaleTimeString()}. ` : "";
  showNotices([{tone: "bad", text: `hatrpcd does not answer (${error.message}). ${since}Trying again.`}]);
}

async function lookAgainAndAgain() {
  for (;;) {
    await look().catch(showLost);
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

at("filter").addEventListener("input", () => {
  if (last) showFunctions(last.rates, last.routes);
});
lookAgainAndAgain();
