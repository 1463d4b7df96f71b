// SPDX-License-Identifier: Apache-2.0
// daemon/admin/status_page/rates.js: what happened between two looks at hatrpcd, and numbers as people read them.
//
// The sums are those of `hatctl top`: hatctl/function_rates.cc, quantile.h and quantities.cc.
"use strict";

const ERRORS = ["app_exception", "local_error", "unknown"];

const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);
const keyOf = (f) => JSON.stringify([f.service, f.method, f.side]);

// counts[i]: what took at most 2^i µs and more than 2^(i-1); the last one the rest. Null: nothing was counted.
function quantile(counts, wanted) {
  const rank = wanted * total(counts);
  let below = 0;
  if (rank === 0) return null;
  for (let i = 0; i + 1 < counts.length; ++i) {
    const lower = i === 0 ? 0 : 2 ** (i - 1);
    if (counts[i] > 0 && below + counts[i] >= rank) {
      return {us: lower + (2 ** i - lower) * (rank - below) / counts[i], atLeast: false};
    }
    below += counts[i];
  }
  return {us: 2 ** (counts.length - 2), atLeast: true};
}

// Both looks: {at: seconds, functions: the answer of /functions}. `before` is null at the first look, and after
// the daemon was started again: then nothing is known of rates.
function ratesBetween(before, after) {
  const known = new Map(before ? before.functions.map((f) => [keyOf(f), f]) : []);
  return after.functions.map((f) => {
    const was = known.get(keyOf(f));
    const grown = (of) => before ? (of(f) - (was ? of(was) : 0)) / (after.at - before.at) : null;
    const buckets = before
        ? f.latency.buckets.map((count, i) => count - (was ? was.latency.buckets[i] : 0)) : [0];
    return {
      ...f,
      name: `${f.service}.${f.method}`,
      calls: grown((of) => total(of.outcomes)),
      errors: grown((of) => ERRORS.reduce((sum, outcome) => sum + of.outcomes[outcome], 0)),
      bytesIn: grown((of) => of.request_bytes),
      bytesOut: grown((of) => of.response_bytes),
      missed: grown((of) => total(of.fallbacks)),
      missedBy: (reason) => grown((of) => of.fallbacks[reason] ?? 0),
      p50: quantile(buckets, 0.5),
      p99: quantile(buckets, 0.99),
    };
  });
}

// Three digits that mean something, and no zeros behind the point.
function threeDigits(value) {
  const decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return String(Number(value.toFixed(decimals)));
}

function scaled(value, step, units) {
  let unit = 0;
  for (; unit + 1 < units.length && value >= step - 0.5; ++unit) value /= step;
  return threeDigits(value) + units[unit];
}

const UNKNOWN = "–";

function countText(count) {
  if (count === null) return UNKNOWN;
  return count < 9999.5 ? threeDigits(count) : scaled(count, 1000, ["", "k", "M", "G", "T"]);
}

function bytesText(bytes) {
  return bytes === null ? UNKNOWN : scaled(bytes, 1024, [" B", " KiB", " MiB", " GiB", " TiB"]);
}

function timeText(time) {
  if (time === null) return UNKNOWN;
  return (time.atLeast ? ">" : "") + scaled(time.us, 1000, [" µs", " ms", " s"]);
}

function ageText(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (large, largeUnit, small, smallUnit) =>
      `${large} ${largeUnit}` + (small === 0 ? "" : ` ${small} ${smallUnit}`);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return two(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86400) return two(Math.floor(whole / 3600), "h", Math.floor(whole / 60) % 60, "min");
  return two(Math.floor(whole / 86400), "d", Math.floor(whole / 3600) % 24, "h");
}

const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
