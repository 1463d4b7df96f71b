// SPDX-License-Identifier: Apache-2.0
// tests/e2e/node/server.js: serves probe.thrift with Thrift's Node server until its input ends.
'use strict';

const thrift = require('thrift');
const Probe = require('./gen/Probe');
const types = require('./gen/probe_types');
const { readCombinations } = require('./combination');

const notes = new Map();

function pattern(size) {
  const bytes = Buffer.alloc(size);
  for (let i = 0; i < size; ++i) bytes[i] = i % 251;
  return bytes;
}

// Node's timers may be a millisecond early.
const later = (ms) => new Promise((resolve) => setTimeout(() => resolve(ms), ms + 1));

const handler = {
  ping: () => Promise.resolve(),
  add: (left, right) => Promise.resolve((left + right) | 0),
  echo: (data) => Promise.resolve(data),
  echo_text: (text) => Promise.resolve(text),
  echo_everything: (value) => Promise.resolve(value),
  repeat: (value, times) => Promise.resolve(Array(times).fill(value)),
  divide: (numerator, denominator) => {
    if (denominator !== 0) return Promise.resolve(Math.trunc(numerator / denominator));
    return Promise.reject(
      new types.DivisionByZero({ numerator, message: 'cannot divide by zero' }));
  },
  fail: (why) => Promise.reject(new Error(why)),
  note: (who) => { notes.set(who, (notes.get(who) || 0) + 1); },
  count: (who) => {
    const count = notes.get(who) || 0;
    notes.delete(who);
    return Promise.resolve(count);
  },
  slow: later,
  hurried: later,
  produce: (size) => Promise.resolve(pattern(size)),
  consume: (data) => Promise.resolve(data.length),
};

function makeServer(combination) {
  const options = combination.stack();
  if (!combination.multiplexed) return thrift.createServer(Probe, handler, options);
  const processor = new thrift.MultiplexedProcessor();
  processor.registerProcessor(combination.multiplexed, new Probe.Processor(handler));
  return thrift.createMultiplexServer(processor, options);
}

async function main() {
  for (const combination of readCombinations(process.argv.slice(2), '--listen')) {
    const server = makeServer(combination);
    await new Promise((resolve, reject) => {
      server.on('error', reject);
      if (combination.unixPath) server.listen(combination.unixPath, resolve);
      else server.listen(combination.port, combination.host, resolve);
    });
    const address = combination.unixPath ? combination.address
      : `${combination.host}:${server.address().port}`;
    console.log(`listening on ${address}`);
  }
  process.stdin.on('end', () => process.exit(0));
  process.stdin.resume();
}

main().catch((error) => {
  console.error(`probe_server: ${error.message}`);
  process.exit(1);
});
