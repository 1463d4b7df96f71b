# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/scenarios/install_test.py: installs the client libraries as a user does, and compiles and runs programs.

C++ programs find the library by pkg-config and by find_package, and are compiled as C++14; pip installs the Python
package in a fresh environment.
"""

import os
import pathlib
import subprocess
import tempfile

from setting import PROGRAMS, Scenario, main

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = PROGRAMS.parent
PYTHON = "/usr/bin/python3"

IDL = """
namespace cpp user
service Echo {
  binary echo(1: binary data)
}
"""

PROGRAM = r"""
#include <hatrpc/TShmServerSocket.h>
#include <hatrpc/TShmSocket.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TSimpleServer.h>
#include <thrift/server/TThreadPoolServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <thread>

#include "Echo.h"

using namespace apache::thrift;
using user::EchoClient;
using user::EchoProcessor;
using hatrpc::TShmServerSocket;
using hatrpc::TShmSocket;
using std::make_shared;
using transport::TTransportException;
using Clock = std::chrono::steady_clock;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "install_test: " << what << std::endl;
  _exit(1);
}

struct Handler : user::EchoIf {
  void echo(std::string& back, const std::string& data) override {
    if (data == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(400));
    back = data;
  }
};

struct Started : server::TServerEventHandler {
  void preServe() override { serving = true; }
  std::atomic<bool> serving{false};
};

// A server of either kind, in a thread, until stop().
struct Running {
  Running(const std::string& kind, const std::string& path) {
    auto socket = make_shared<TShmServerSocket>("shm:" + path);
    auto processor = make_shared<EchoProcessor>(make_shared<Handler>());
    auto framed = make_shared<transport::TFramedTransportFactory>();
    auto binary = make_shared<protocol::TBinaryProtocolFactory>();
    if (kind == "simple") {
      server = make_shared<server::TSimpleServer>(processor, socket, framed, binary);
    } else if (kind == "threaded") {
      server = make_shared<server::TThreadedServer>(processor, socket, framed, binary);
    } else {
      auto threads = concurrency::ThreadManager::newSimpleThreadManager(4);
      threads->threadFactory(make_shared<concurrency::ThreadFactory>());
      threads->start();
      server = make_shared<server::TThreadPoolServer>(processor, socket, framed, binary, threads);
    }
    auto started = make_shared<Started>();
    server->setServerEventHandler(started);
    thread = std::thread([this] { server->serve(); });
    while (!started->serving) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void stop() {
    server->stop();
    thread.join();
  }
  std::shared_ptr<server::TServer> server;
  std::thread thread;
};

struct Client {
  explicit Client(const std::string& path)
      : socket(make_shared<TShmSocket>(path)),
        framed(make_shared<transport::TFramedTransport>(socket)),
        calls(make_shared<protocol::TBinaryProtocol>(framed)) {}
  std::string echo(const std::string& data) {
    std::string back;
    calls.echo(back, data);
    return back;
  }
  std::shared_ptr<TShmSocket> socket;
  std::shared_ptr<transport::TFramedTransport> framed;
  EchoClient calls;
};

TTransportException::TTransportExceptionType error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const TTransportException& error) {
    return error.getType();
  }
  require(false, "nothing was thrown");
  return TTransportException::UNKNOWN;
}

void serves(const std::string& kind, const std::string& path) {
  Running running(kind, path);
  Client client(path);
  require(!client.socket->isOpen(), "open before open()");
  client.framed->open();
  require(client.socket->isOpen(), "not open after open()");
  require(client.echo("hello") == "hello", "hello came changed");
  const std::string much(1000000, 'x');
  require(client.echo(much) == much, "a million bytes came changed");
  require(client.socket->getOrigin() == "shm:" + path, "another origin");
  client.framed->close();
  require(!client.socket->isOpen(), "open after close()");
  client.framed->open();
  require(client.echo("again") == "again", "it opens only once");

  // The client stays, idle: its end is not waited for.
  const auto began = Clock::now();
  running.stop();
  require(Clock::now() - began < std::chrono::seconds(2), kind + ": stop() waits for idle clients");
  require(!client.socket->peek(), kind + ": peek() sees no end");
  require(client.socket->isOpen(), "isOpen() is what this side did");
  bool refused = false;
  try {
    client.echo("too late");
  } catch (const TTransportException&) {
    refused = true;
  }
  require(refused, kind + ": answered after its end");
  unlink(path.c_str());
}

void times_out(const std::string& path) {
  Running running("threaded", path);
  Client client(path);
  client.socket->setRecvTimeout(100);
  client.framed->open();
  const auto began = Clock::now();
  const auto type = error_of([&] { client.echo("slow"); });
  require(type == TTransportException::TIMED_OUT, "no TIMED_OUT");
  const auto took = Clock::now() - began;
  require(took > std::chrono::milliseconds(90) && took < std::chrono::milliseconds(390), "not at 100 ms");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  require(client.socket->peek(), "peek() does not see the late reply");
  running.stop();
  unlink(path.c_str());
  Client nobody(path);
  require(error_of([&] { nobody.framed->open(); }) == TTransportException::NOT_OPEN, "opened without a server");
}

int main(int, char** argv) {
  const std::string folder = argv[1];
  for (const std::string kind : {"simple", "threaded", "pool"}) serves(kind, folder + "/" + kind + ".ring");
  times_out(folder + "/slow.ring");
  std::cout << "all held" << std::endl;
}
"""

RDMA_PROGRAM = r"""
#include <hatrpc/TRdma.h>
#include <hatrpc/TServerRdma.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>

#include <future>
#include <iostream>
#include <thread>

#include "Echo.h"

using namespace apache::thrift;
using std::make_shared;

struct Handler : user::EchoIf {
  void echo(std::string& back, const std::string& data) override { back = data; }
};

struct Started : server::TServerEventHandler {
  void preServe() override { serving.set_value(); }
  std::promise<void> serving;
};

int main() {
  hatrpc::RdmaOptions options;
  options.config = "fabric: loop\nlink: {insecure: true}";
  auto listening = make_shared<hatrpc::TServerRdma>("127.0.0.1", 0, options);
  server::TThreadedServer server(make_shared<user::EchoProcessor>(make_shared<Handler>()), listening,
                                 make_shared<transport::TFramedTransportFactory>(),
                                 make_shared<protocol::TBinaryProtocolFactory>());
  auto started = make_shared<Started>();
  server.setServerEventHandler(started);
  std::thread thread([&] { server.serve(); });
  started->serving.get_future().wait();
  auto socket = make_shared<hatrpc::TRdma>("127.0.0.1", listening->getPort(), options);
  auto framed = make_shared<transport::TFramedTransport>(socket);
  user::EchoClient client(make_shared<protocol::TBinaryProtocol>(framed));
  framed->open();
  std::string back;
  client.echo(back, "hello");
  const std::string much(1000000, 'x');
  std::string more;
  client.echo(more, much);
  framed->close();
  server.stop();
  thread.join();
  std::cout << (back == "hello" && more == much ? "all held" : "an echo came changed") << std::endl;
}
"""

CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 14)
find_package(hatrpc REQUIRED)
add_executable(user main.cc gen/Echo.cpp)
target_include_directories(user PRIVATE gen)
target_link_libraries(user PRIVATE hatrpc::client pthread)
"""
RDMA_CMAKE = (CMAKE.replace("find_package(hatrpc ", "find_package(hatrpc-rdma ").replace("hatrpc::client", "hatrpc::rdma")
              .replace("main.cc", "rdma.cc"))

PYTHON_PROGRAM = """
import multiprocessing, os, signal, sys, time
sys.path.insert(0, sys.argv[1] + '/gen-py')
import hatrpc
from echo import Echo
from thrift.protocol import TBinaryProtocol
from thrift.server import TServer
from thrift.transport import TTransport
assert hatrpc.__file__.startswith(sys.prefix), hatrpc.__file__
path = sys.argv[1] + '/python.ring'
class Handler:
    def echo(self, data): return data + b'!'
server = TServer.TForkingServer(Echo.Processor(Handler()), hatrpc.TShmServerSocket(path),
                                TTransport.TFramedTransportFactory(),
                                TBinaryProtocol.TBinaryProtocolFactory())
process = multiprocessing.Process(target=server.serve, daemon=True)
process.start()
while not os.path.exists(path): time.sleep(0.01)
for _ in range(3):
    transport = TTransport.TFramedTransport(hatrpc.TShmSocket(path))
    for attempt in range(100):
        try:
            transport.open()
            break
        except TTransport.TTransportException:  # the server has bound its socket, and does not listen yet
            time.sleep(0.02)
    calls = Echo.Client(TBinaryProtocol.TBinaryProtocol(transport))
    assert calls.echo(b'hello') == b'hello!'
    assert calls.echo(bytes(500_000)) == bytes(500_000) + b'!'
    transport.close()
process.terminate()
print('all held')
"""


def run(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          timeout=110, **more)
    assert done.returncode == 0, f"{' '.join(map(str, words))}:\n{done.stdout}{done.stderr}"
    return done.stdout


class Install(Scenario):
    @classmethod
    def setUpClass(cls):
        held = tempfile.TemporaryDirectory(prefix="hatrpc-install-")
        cls.addClassCleanup(held.cleanup)
        cls.folder = pathlib.Path(held.name)
        cls.prefix = cls.folder / "prefix"
        run(["cmake", "--install", BUILD / "client", "--component", "client", "--prefix", cls.prefix])
        run(["cmake", "--install", BUILD / "client", "--component", "rdma", "--prefix", cls.folder / "rdma"])
        (cls.folder / "main.cc").write_text(PROGRAM)
        (cls.folder / "rdma.cc").write_text(RDMA_PROGRAM)
        (cls.folder / "gen").mkdir()
        (cls.folder / "echo.thrift").write_text(IDL)
        run(["thrift", "--gen", "cpp:no_skeleton", "-out", cls.folder / "gen", cls.folder / "echo.thrift"])
        run(["thrift", "--gen", "py", "-o", cls.folder, cls.folder / "echo.thrift"])

    def library_folder(self, prefix=None):
        return next((prefix or self.prefix).rglob("libhatrpc-*.so")).parent

    def test_nothing_but_the_rdma_library_is_installed(self):
        names = {path.name for path in (self.folder / "rdma").rglob("*") if path.is_file() or path.is_symlink()}
        self.assertEqual(names, {
            "TRdma.h", "TServerRdma.h", "hatrpc_rdma.h", "rdma_options.h", "hatrpc-rdma.pc", "hatrpc-rdma-config.cmake",
            "hatrpc-rdma-config-version.cmake", *(name for name in names if name.startswith("libhatrpc-rdma.so"))})
        self.assertIn("libhatrpc-rdma.so", names)

    def test_nothing_but_the_client_is_installed(self):
        names = sorted(path.name for path in self.prefix.rglob("*") if path.is_file() or path.is_symlink())
        for name in names:
            self.assertRegex(name, r"^((lib)?hatrpc-|TShm)", "the file does not belong to the client library")
        self.assertLess({"TShmServerSocket.h", "TShmSocket.h", "hatrpc-client.pc", "hatrpc-config.cmake",
                         "hatrpc-config-version.cmake", "libhatrpc-client.so"}, set(names))

    def check_runs(self, program, prefix=None):
        with tempfile.TemporaryDirectory(prefix="hatrpc-rings-") as rings:
            said = run([program, rings], env={**os.environ, "LD_LIBRARY_PATH": str(self.library_folder(prefix))})
        self.assertEqual(said, "all held\n")

    def test_by_pkg_config(self):
        found = run(["pkg-config", "--cflags", "--libs", "hatrpc-client"],
                    env={**os.environ, "PKG_CONFIG_PATH": str(self.library_folder() / "pkgconfig")})
        includes = [os.path.realpath(word[2:]) for word in found.split() if word.startswith("-I")]
        self.assertIn(os.path.realpath(f"{self.prefix}/include"), includes, "pkg-config gives another prefix")
        program = self.folder / "by_pkg_config"
        run(["g++", "-std=c++14", "-Wall", "-Wextra", "-Werror=deprecated", "-I", self.folder / "gen",
             self.folder / "main.cc", self.folder / "gen" / "Echo.cpp", "-o", program, *found.split(),
             "-pthread"])
        self.check_runs(program)

    def test_rdma_by_pkg_config(self):
        prefix = self.folder / "rdma"
        found = run(["pkg-config", "--cflags", "--libs", "hatrpc-rdma"],
                    env={**os.environ, "PKG_CONFIG_PATH": str(self.library_folder(prefix) / "pkgconfig")})
        program = self.folder / "rdma_by_pkg_config"
        run(["g++", "-std=c++14", "-Wall", "-Wextra", "-I", self.folder / "gen", self.folder / "rdma.cc",
             self.folder / "gen" / "Echo.cpp", "-o", program, *found.split(), "-pthread"])
        self.check_runs(program, prefix)

    def test_rdma_by_find_package(self):
        user = self.folder / "rdma_user"
        user.mkdir()
        (user / "CMakeLists.txt").write_text(RDMA_CMAKE)
        for name in "rdma.cc", "gen":
            (user / name).symlink_to(self.folder / name)
        run(["cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={self.folder / 'rdma'}"])
        run(["cmake", "--build", user / "build"])
        self.check_runs(user / "build" / "user", self.folder / "rdma")

    def test_headers_are_cpp_11(self):
        for prefix, names in ((self.prefix, ("TShmServerSocket", "TShmSocket")),
                              (self.folder / "rdma", ("TRdma", "TServerRdma"))):
            source = self.folder / "headers.cc"
            source.write_text("".join(f"#include <hatrpc/{name}.h>\n" for name in names))
            run(["g++", "-std=c++11", "-fsyntax-only", "-I", prefix / "include", source])

    def test_by_find_package(self):
        user = self.folder / "user"
        user.mkdir()
        (user / "CMakeLists.txt").write_text(CMAKE)
        for name in "main.cc", "gen":
            (user / name).symlink_to(self.folder / name)
        run(["cmake", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}"])
        run(["cmake", "--build", user / "build"])
        self.check_runs(user / "build" / "user")

    def test_by_pip(self):
        home = self.folder / "venv"
        run([PYTHON, "-m", "venv", "--system-site-packages", home])
        run([home / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps",
             ROOT / "client" / "python"])
        said = run([home / "bin" / "python", "-c", PYTHON_PROGRAM, self.folder], cwd=self.folder)
        self.assertEqual(said, "all held\n")


if __name__ == "__main__":
    main()
