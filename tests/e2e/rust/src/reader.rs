// SPDX-License-Identifier: Apache-2.0
// tests/e2e/rust/src/reader.rs: as tests/e2e/python/reader.py. The library has no JSON.
//
// Generated Rust wants every argument of a function. Where one is missing it calls nobody, after it
// has read the whole message: that is no disagreement.

mod checked;

use checked::{CheckedSyncHandler, CheckedSyncProcessor, Either, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufReader, Read};
use std::sync::Mutex;
use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TCompactInputProtocol, TInputProtocol,
};
use thrift::server::TProcessor;

const BINARY: u8 = 0;
const OLD_BINARY: u8 = 1;
const COMPACT: u8 = 2;

/// Notes who was called.
struct Notes<'a>(&'a Mutex<Vec<&'static str>>);

impl Notes<'_> {
    fn note(&self, function: &'static str) {
        self.0.lock().unwrap().push(function);
    }
}

impl CheckedSyncHandler for Notes<'_> {
    fn handle_none(&self) -> thrift::Result<()> {
        self.note("none");
        Ok(())
    }
    fn handle_add(&self, _: i64, _: i64) -> thrift::Result<i64> {
        self.note("add");
        Ok(0)
    }
    fn handle_put(&self, _: String, _: Node) -> thrift::Result<()> {
        self.note("put");
        Ok(())
    }
    fn handle_many(
        &self,
        _: Vec<String>,
        _: BTreeMap<String, Node>,
        _: BTreeSet<i16>,
    ) -> thrift::Result<Vec<String>> {
        self.note("many");
        Ok(vec![])
    }
    fn handle_note(&self, _: BTreeSet<i64>, _: bool, _: Vec<Either>) -> thrift::Result<()> {
        self.note("note");
        Ok(())
    }
    fn handle_danger(&self, _: String) -> thrift::Result<()> {
        self.note("danger");
        Ok(())
    }
}

struct Record {
    encoding: u8,
    function: String,
    request: Vec<u8>,
}

fn next_record(input: &mut impl Read) -> io::Result<Option<Record>> {
    let mut head = [0; 2];
    if input.read(&mut head[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut head[1..])?;
    let mut function = vec![0; head[1].into()];
    input.read_exact(&mut function)?;
    let mut size = [0; 4];
    input.read_exact(&mut size)?;
    let mut request = vec![0; u32::from_be_bytes(size) as usize];
    input.read_exact(&mut request)?;
    Ok(Some(Record {
        encoding: head[0],
        function: String::from_utf8(function).expect("a function's name"),
        request,
    }))
}

/// What the stock code makes of a request.
struct Served {
    result: thrift::Result<()>,
    bytes_left: usize,
    answer: Vec<u8>,
}

fn serve<H: CheckedSyncHandler>(
    processor: &CheckedSyncProcessor<H>,
    encoding: u8,
    request: &[u8],
) -> Served {
    let mut rest = request;
    let mut answer = vec![];
    let mut reader: Box<dyn TInputProtocol + '_> = match encoding {
        COMPACT => Box::new(TCompactInputProtocol::new(&mut rest)),
        _ => Box::new(TBinaryInputProtocol::new(&mut rest, false)),
    };
    let mut writer = TBinaryOutputProtocol::new(&mut answer, true);
    let result = processor.process(&mut *reader, &mut writer);
    drop((reader, writer));
    Served {
        result,
        bytes_left: rest.len(),
        answer,
    }
}

fn main() -> io::Result<()> {
    let calls = Mutex::new(vec![]);
    let processor = CheckedSyncProcessor::new(Notes(&calls));
    let mut input = BufReader::with_capacity(1 << 20, io::stdin());
    let mut count = 0;
    while let Some(record) = next_record(&mut input)? {
        count += 1;
        if ![BINARY, OLD_BINARY, COMPACT].contains(&record.encoding) {
            continue;
        }
        let served = serve(&processor, record.encoding, &record.request);
        let called = std::mem::take(&mut *calls.lock().unwrap());
        let answer = String::from_utf8_lossy(&served.answer);
        let is_the_call = called == [record.function.as_str()]
            || (called.is_empty() && answer.contains("missing required field Checked"));
        if !is_the_call || served.result.is_err() || served.bytes_left != 0 {
            println!(
                "request {}, of {}: {:?}, {} bytes left {:?} {}: {:?}",
                count,
                record.function,
                called,
                served.bytes_left,
                served.result,
                answer,
                record.request
            );
            std::process::exit(1);
        }
    }
    println!("{} requests", count);
    Ok(())
}
