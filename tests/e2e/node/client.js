// SPDX-License-Identifier: Apache-2.0
// tests/e2e/node/client.js: runs the cases over each combination, and says which hold.
'use strict';

const thrift = require('thrift');
const ProbeOfTomorrow = require('./gen/ProbeOfTomorrow');
const { cases } = require('./cases');
const { readCombinations } = require('./combination');

class Session {
  constructor(combination) {
    this.combination = combination;
  }

  async open() {
    const { combination } = this;
    const options = { ...combination.stack(), connect_timeout: combination.timeoutMs };
    this.connection = combination.unixPath
      ? thrift.createUDSConnection(combination.unixPath, options)
      : thrift.createConnection(combination.host, combination.port, options);
    await new Promise((resolve, reject) => {
      this.connection.on('connect', resolve);
      this.connection.on('error', reject);
    });
    this.client = combination.multiplexed
      ? new thrift.Multiplexer().createClient(combination.multiplexed, ProbeOfTomorrow,
        this.connection)
      : thrift.createClient(ProbeOfTomorrow, this.connection);
  }

  close() {
    this.connection.end();
  }
}

function inTime(combination, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), combination.timeoutMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function runCase(combination, name) {
  const session = new Session(combination);
  try {
    await inTime(combination, session.open().then(() => cases[name](session)));
    console.log(`ok ${name}`);
    return true;
  } catch (error) { // whatever went wrong is the answer
    console.log(`FAIL ${name} ${String(error).replaceAll('\n', ' ').slice(0, 300)}`);
    return false;
  } finally {
    session.close();
  }
}

async function main() {
  let allOk = true;
  for (const combination of readCombinations(process.argv.slice(2), '--connect')) {
    console.log(`run ${combination.address}`);
    for (const name of Object.keys(cases)) {
      if (combination.wants(name)) allOk = await runCase(combination, name) && allOk;
    }
  }
  process.exit(allOk ? 0 : 1);
}

main();
