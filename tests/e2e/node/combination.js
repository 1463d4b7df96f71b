// SPDX-License-Identifier: Apache-2.0
// tests/e2e/node/combination.js: reads the combinations that a probe client or server shall run.
'use strict';

const thrift = require('thrift');

const transports = { buffered: thrift.TBufferedTransport, framed: thrift.TFramedTransport };
const protocols = {
  binary: thrift.TBinaryProtocol,
  compact: thrift.TCompactProtocol,
  json: thrift.TJSONProtocol,
};

// One --connect or --listen and the options after it; tests/e2e/README.md lists them.
class Combination {
  constructor(address) {
    this.address = address;
    this.transport = 'framed';
    this.protocol = 'binary';
    this.multiplexed = '';
    this.cases = [];
    this.skipped = [];
    this.timeoutMs = 20000;
    this.large = 16 << 20;
  }

  get host() { return this.address.slice(0, this.address.lastIndexOf(':')); }
  get port() { return Number(this.address.slice(this.address.lastIndexOf(':') + 1)); }
  get unixPath() { return this.address.startsWith('unix:') ? this.address.slice(5) : ''; }

  wants(name) {
    return !this.skipped.includes(name) && (this.cases.length === 0 || this.cases.includes(name));
  }

  stack() {
    const transport = transports[this.transport];
    const protocol = protocols[this.protocol];
    if (!transport || !protocol) throw new Error(`no ${this.transport} or no ${this.protocol}`);
    return { transport, protocol };
  }

  set(option, value) {
    switch (option) {
      case '--transport': this.transport = value; break;
      case '--protocol': this.protocol = value; break;
      case '--server': this.server = value; break;
      case '--multiplexed': this.multiplexed = value; break;
      case '--case': this.cases.push(value); break;
      case '--skip': this.skipped.push(value); break;
      case '--timeout-ms': this.timeoutMs = Number(value); break;
      case '--large': this.large = Number(value); break;
      default: throw new Error(`unknown option ${option}`);
    }
  }
}

// `first` is the option that opens a combination.
function readCombinations(words, first) {
  const result = [];
  for (let i = 0; i + 1 < words.length; i += 2) {
    if (words[i] === first) {
      result.push(new Combination(words[i + 1]));
    } else if (result.length === 0) {
      throw new Error(`${first} must come before ${words[i]}`);
    } else {
      result[result.length - 1].set(words[i], words[i + 1]);
    }
  }
  if (result.length === 0 || words.length % 2 !== 0) {
    throw new Error(`expected ${first} ADDRESS and options with a value each`);
  }
  return result;
}

module.exports = { readCombinations };
