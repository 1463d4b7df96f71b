// SPDX-License-Identifier: Apache-2.0
// tests/e2e/rust/src/server.rs: serves probe.thrift with Thrift's Rust server until its input ends.
// The library has no JSON, no THeader and no multiplexing by name that these tests need.

mod probe;

use probe::{BaseSyncHandler, DivisionByZero, Everything, ProbeSyncHandler, ProbeSyncProcessor};
use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::exit;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use thrift::protocol::{
    TBinaryInputProtocolFactory, TBinaryOutputProtocolFactory, TCompactInputProtocolFactory,
    TCompactOutputProtocolFactory, TInputProtocolFactory, TOutputProtocolFactory,
};
use thrift::server::TServer;
use thrift::transport::{
    TBufferedReadTransportFactory, TBufferedWriteTransportFactory, TFramedReadTransportFactory,
    TFramedWriteTransportFactory, TReadTransportFactory, TWriteTransportFactory,
};

/// Connections that one server serves at a time.
const WORKERS: usize = 64;

#[derive(Clone, Default)]
struct Handler {
    notes: Arc<Mutex<HashMap<String, i32>>>,
}

impl BaseSyncHandler for Handler {
    fn handle_ping(&self) -> thrift::Result<()> {
        Ok(())
    }
    fn handle_add(&self, left: i32, right: i32) -> thrift::Result<i32> {
        Ok(left.wrapping_add(right))
    }
}

impl ProbeSyncHandler for Handler {
    fn handle_echo(&self, data: Vec<u8>) -> thrift::Result<Vec<u8>> {
        Ok(data)
    }
    fn handle_echo_text(&self, text: String) -> thrift::Result<String> {
        Ok(text)
    }
    fn handle_echo_everything(&self, value: Everything) -> thrift::Result<Everything> {
        Ok(value)
    }
    fn handle_repeat(&self, value: Everything, times: i32) -> thrift::Result<Vec<Everything>> {
        Ok(vec![value; times as usize])
    }
    fn handle_divide(&self, numerator: i32, denominator: i32) -> thrift::Result<i32> {
        if denominator == 0 {
            let message = "cannot divide by zero".to_owned();
            return Err(DivisionByZero::new(numerator, message).into());
        }
        Ok(numerator / denominator)
    }
    fn handle_fail(&self, why: String) -> thrift::Result<()> {
        Err(why.into())
    }
    fn handle_note(&self, who: String) -> thrift::Result<()> {
        *self.notes.lock().unwrap().entry(who).or_insert(0) += 1;
        Ok(())
    }
    fn handle_count(&self, who: String) -> thrift::Result<i32> {
        Ok(self.notes.lock().unwrap().remove(&who).unwrap_or(0))
    }
    fn handle_slow(&self, ms: i32) -> thrift::Result<i32> {
        std::thread::sleep(Duration::from_millis(ms as u64));
        Ok(ms)
    }
    fn handle_hurried(&self, ms: i32) -> thrift::Result<i32> {
        self.handle_slow(ms)
    }
    fn handle_produce(&self, size: i32) -> thrift::Result<Vec<u8>> {
        Ok((0..size).map(|i| (i % 251) as u8).collect())
    }
    fn handle_consume(&self, data: Vec<u8>) -> thrift::Result<i32> {
        Ok(data.len() as i32)
    }
}

struct Combination {
    address: String,
    framed: bool,
    compact: bool,
}

fn usage(problem: &str) -> ! {
    eprintln!("server: {problem}");
    exit(64)
}

/// Reads `--listen ADDRESS [--transport buffered|framed] [--protocol binary|compact]`, repeated.
fn combinations(words: impl Iterator<Item = String>) -> Vec<Combination> {
    let mut found: Vec<Combination> = vec![];
    let mut words = words;
    while let Some(option) = words.next() {
        let value = words
            .next()
            .unwrap_or_else(|| usage(&format!("{option} has no value")));
        if option == "--listen" {
            found.push(Combination {
                address: value,
                framed: false,
                compact: false,
            });
            continue;
        }
        let newest = found
            .last_mut()
            .unwrap_or_else(|| usage("--listen comes first"));
        match (option.as_str(), value.as_str()) {
            ("--transport", "buffered") => newest.framed = false,
            ("--transport", "framed") => newest.framed = true,
            ("--protocol", "binary") => newest.compact = false,
            ("--protocol", "compact") => newest.compact = true,
            _ => usage(&format!("{option} {value} is not supported")),
        }
    }
    found
}

/// Serves until the listening socket fails. `address` is where to listen.
fn serve(combination: &Combination, address: SocketAddr, handler: Handler) -> thrift::Result<()> {
    let (read, write): (
        Box<dyn TReadTransportFactory>,
        Box<dyn TWriteTransportFactory>,
    ) = match combination.framed {
        true => (
            Box::new(TFramedReadTransportFactory::new()),
            Box::new(TFramedWriteTransportFactory::new()),
        ),
        false => (
            Box::new(TBufferedReadTransportFactory::new()),
            Box::new(TBufferedWriteTransportFactory::new()),
        ),
    };
    let (input, output): (
        Box<dyn TInputProtocolFactory>,
        Box<dyn TOutputProtocolFactory>,
    ) = match combination.compact {
        true => (
            Box::new(TCompactInputProtocolFactory::new()),
            Box::new(TCompactOutputProtocolFactory::new()),
        ),
        false => (
            Box::new(TBinaryInputProtocolFactory::new()),
            Box::new(TBinaryOutputProtocolFactory::new()),
        ),
    };
    let processor = ProbeSyncProcessor::new(handler);
    TServer::new(read, input, write, output, processor, WORKERS).listen(address)
}

/// Starts the library's server, and returns its address. The library does not say which port it has
/// bound, so this finds a free one first. If another process takes that port in between, listen()
/// fails, and this tries another one.
fn start(combination: Combination, handler: &Handler) -> std::io::Result<SocketAddr> {
    let combination = Arc::new(combination);
    loop {
        let address = TcpListener::bind(&combination.address)?.local_addr()?;
        let (failed, failure) = channel();
        let (of_thread, handler) = (combination.clone(), handler.clone());
        std::thread::spawn(move || failed.send(serve(&of_thread, address, handler)));
        while let Err(RecvTimeoutError::Timeout) = failure.recv_timeout(Duration::from_millis(20)) {
            if TcpStream::connect(address).is_ok() {
                return Ok(address);
            }
        }
    }
}

fn main() {
    let handler = Handler::default();
    for combination in combinations(std::env::args().skip(1)) {
        match start(combination, &handler) {
            Ok(address) => println!("listening on {address}"),
            Err(error) => {
                eprintln!("server: {error}");
                exit(1)
            }
        }
    }
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}
