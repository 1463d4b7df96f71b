// SPDX-License-Identifier: Apache-2.0
// tests/e2e/node/reader.js: as tests/e2e/python/reader.py.
"use strict";

const fs = require("fs");
const thrift = require("thrift");
const Checked = require("./gen/Checked");

const PROTOCOLS = [thrift.TBinaryProtocol, thrift.TBinaryProtocol, thrift.TCompactProtocol, thrift.TJSONProtocol];
const FUNCTIONS = ["none", "add", "put", "many", "note", "danger"];

let calls = [];
const handler = {};
// The number of parameters says whether a handler takes a callback; none here does.
for (const name of FUNCTIONS) handler[name] = () => { calls.push(name); return Promise.resolve(name === "many" ? [] : 0); };
const lengths = { none: 0, add: 2, put: 2, many: 3, note: 3, danger: 1 };
for (const name of FUNCTIONS) Object.defineProperty(handler[name], "length", { value: lengths[name] });

const processor = new Checked.Processor(handler);
const input = fs.readFileSync(0);
let at = 0, count = 0;
while (at < input.length) {
  const Protocol = PROTOCOLS[input[at]];
  const name = input.toString("latin1", at + 2, at + 2 + input[at + 1]);
  at += 2 + input[at + 1];
  const size = input.readUInt32BE(at);
  const request = Buffer.from(input.subarray(at + 4, at + 4 + size));
  at += 4 + size;
  ++count;
  calls = [];
  const transport = new thrift.TFramedTransport(request);
  let said = "";
  try {
    processor.process(new Protocol(transport), new Protocol(new thrift.TFramedTransport(undefined, () => {})));
  } catch (error) {
    said = String(error);
  }
  const left = request.length - transport.readPos;
  if (said || left !== 0 || calls.length !== 1 || calls[0] !== name) {
    console.log(`request ${count}, of ${name}: ${calls}, ${left} bytes left ${said}: ${request.toString("hex")}`);
    process.exit(1);
  }
}
console.log(`${count} requests`);
