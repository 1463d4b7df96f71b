// SPDX-License-Identifier: Apache-2.0
// tests/e2e/node/cases.js: checks that calls and their answers arrive whole and in order.
'use strict';

const Int64 = require('node-int64');
const thrift = require('thrift');
const types = require('./gen/probe_types');

const CALLS = 50;

function expect(holds, what) {
  if (!holds) throw new Error(what);
}

function pattern(size) {
  const bytes = Buffer.alloc(size);
  for (let i = 0; i < size; ++i) bytes[i] = i % 251;
  return bytes;
}

async function checkEcho({ client }, size) {
  expect((await client.echo(pattern(size))).equals(pattern(size)), `${size} bytes came changed`);
}

async function checkSum({ client }, left, right) {
  const sum = await client.add(left, right);
  expect(sum === left + right, `${left} + ${right} came as ${sum}`);
}

function everythingFull() {
  const point = (x, y, label) => new types.Point({ x, y, label });
  return new types.Everything({
    yes: true, no: false, tiny: -128, short_one: -32768, medium: -2147483648,
    large: new Int64(Buffer.from('8000000000000000', 'hex')), real: -2.5e-300, text: 'Grüße',
    blob: Buffer.from([0, 255, 128, 1]), colour: types.Colour.BLUE,
    instant: new Int64(1700000000123), point: point(1, -1, 'corner'),
    shape: new types.Shape({ polygon: [point(0, 0), point(3, 0), point(0, 4)] }),
    empty: new types.Empty(), numbers: Array.from({ length: 40 }, (_, i) => i * i - 100),
    points: [point(5, 6), point(7, 8)], words: ['alpha', 'beta', ''],
    counts: { one: 1, 'minus one': -1 }, index: { 1: ['a', 'b'], '-2': [] },
    flags: [[true, false, true], [], [false]],
    blobs: [Buffer.from([0]), Buffer.alloc(0), Buffer.from('abc')], present: 'here',
    reals: [0, 1.5, -1e300], far_away: 200,
  });
}

// Comparable text: bytes and 64-bit numbers as hex, keys and sets in one order, absent as absent.
function canonical(value) {
  if (value === null || value === undefined) return 'absent';
  if (Buffer.isBuffer(value)) return `bytes ${value.toString('hex')}`;
  if (value instanceof Int64) return `i64 ${value.toOctetString()}`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const keys = Object.keys(value).filter((key) => value[key] !== null && value[key] !== undefined);
  return `{${keys.sort().map((key) => `${key}: ${canonical(value[key])}`).join(', ')}}`;
}

function withSortedWords(value) {
  return Object.assign(new types.Everything(value), { words: [...value.words].sort() });
}

function expectSame(came, sent) {
  const [left, right] = [came, sent].map((one) => canonical(withSortedWords(one)));
  expect(left === right, `a struct came back changed: ${left}`);
}

async function fails(call, check) {
  let error;
  try {
    await call;
  } catch (thrown) {
    error = thrown;
  }
  expect(error !== undefined, 'no exception came');
  check(error);
}

function isApplicationException(error) {
  expect(error instanceof thrift.Thrift.TApplicationException, `${error} came`);
}

// The library numbers its calls and finds each by the answer's number, so all of them may be open.
const cases = {
  ping: ({ client }) => client.ping(),
  add: async (session) => {
    for (const [left, right] of [[2, 3], [-7, 3], [2147483647, 0]]) {
      await checkSum(session, left, right);
    }
  },
  echo_sizes: async (session) => {
    for (const size of [0, 1, 2, 100, 4095, 4096, 4097, 65535, 65536, 65537, 300000]) {
      await checkEcho(session, size);
    }
  },
  echo_large: (session) => checkEcho(session, session.combination.large),
  produce_consume: async ({ client, combination }) => {
    const size = Math.min(1000000, combination.large);
    const came = await client.produce(size);
    expect(came.equals(pattern(size)), `${size} bytes came changed`);
    expect(await client.consume(came) === size, `not all of ${size} bytes arrived`);
  },
  text: async ({ client }) => {
    const sent = 'quote " backslash \\ newline \n tab \t Grüße, мир, 世界, €';
    const came = await client.echo_text(sent);
    expect(came === sent, `${came} came back`);
  },
  everything: async ({ client }) => {
    expectSame(await client.echo_everything(everythingFull()), everythingFull());
    const came = await client.repeat(everythingFull(), 20);
    expect(came.length === 20, `${came.length} of 20 came`);
    for (const one of came) expectSame(one, everythingFull());
  },
  declared: async ({ client }) => {
    expect(await client.divide(7, 2) === 3, '7 / 2');
    await fails(client.divide(7, 0), (error) => {
      expect(error instanceof types.DivisionByZero && error.numerator === 7 &&
             error.message === 'cannot divide by zero', `${error} came`);
    });
    await client.ping();
  },
  undeclared: async ({ client }) => {
    await fails(client.fail('on purpose'), isApplicationException);
    await client.ping();
  },
  unknown_method: async ({ client }) => {
    await fails(client.not_yet(1), (error) => {
      isApplicationException(error);
      expect(error.type === thrift.Thrift.TApplicationExceptionType.UNKNOWN_METHOD,
        `type ${error.type} came`);
    });
    await client.ping();
  },
  oneway: async ({ client, combination }) => {
    const who = `node-${process.pid}-${combination.address}`;
    for (let i = 0; i < 200; ++i) client.note(who);
    const count = await client.count(who);
    expect(count === 200, `${count} of 200 oneway calls arrived`);
  },
  slow: async ({ client }) => {
    const began = Date.now();
    expect(await client.slow(50) === 50, 'slow');
    expect(Date.now() - began >= 49, 'too early');
  },
  many: async (session) => {
    for (let i = 0; i < 300; ++i) await checkSum(session, i, i);
  },
  reconnect: async (session) => {
    for (let i = 0; i < 5; ++i) {
      session.close();
      await session.open();
      await checkSum(session, i, 1);
    }
  },
  pipelined: async (session) => {
    const sums = Array.from({ length: CALLS }, (_, i) => checkSum(session, i, 1000));
    await Promise.all(sums);
  },
};

module.exports = { cases };
