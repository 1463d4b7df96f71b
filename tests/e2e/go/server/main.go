// SPDX-License-Identifier: Apache-2.0
// tests/e2e/go/server/main.go: serves probe.thrift with Thrift's Go server until its input ends.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/apache/thrift/lib/go/thrift"
	"hatrpc.test/peers/peer"
	"hatrpc.test/probe"
)

func makeProcessor(c *peer.Combination, handler probe.Probe) thrift.TProcessor {
	processor := probe.NewProbeProcessor(handler)
	if c.Multiplexed == "" {
		return processor
	}
	multiplexed := thrift.NewTMultiplexedProcessor()
	multiplexed.RegisterProcessor(c.Multiplexed, processor)
	return multiplexed
}

func startHTTP(c *peer.Combination, processor thrift.TProcessor) (string, error) {
	protocols, err := peer.Protocols(c)
	if err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", c.Address)
	if err != nil {
		return "", err
	}
	go http.Serve(listener, http.HandlerFunc(
		thrift.NewThriftHandlerFunc(processor, protocols, protocols)))
	return listener.Addr().String(), nil
}

// start returns the address that the server listens on.
func start(c *peer.Combination, handler probe.Probe) (string, error) {
	processor := makeProcessor(c, handler)
	if c.Transport == "http" {
		return startHTTP(c, processor)
	}
	transports, err := peer.Transports(c)
	if err != nil {
		return "", err
	}
	protocols, err := peer.Protocols(c)
	if err != nil {
		return "", err
	}
	var socket *thrift.TServerSocket
	if path := c.UnixPath(); path != "" {
		socket = thrift.NewTServerSocketFromAddrTimeout(&net.UnixAddr{Name: path, Net: "unix"}, 0)
	} else if socket, err = thrift.NewTServerSocket(c.Address); err != nil {
		return "", err
	}
	if err := socket.Listen(); err != nil {
		return "", err
	}
	go thrift.NewTSimpleServer4(processor, socket, transports, protocols).Serve()
	if c.UnixPath() != "" {
		return c.Address, nil
	}
	return socket.Addr().String(), nil
}

func main() {
	combinations, err := peer.ReadCombinations(os.Args[1:], "--listen")
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe_server:", err)
		os.Exit(64)
	}
	handler := &handler{notes: map[string]int32{}}
	for _, combination := range combinations {
		address, err := start(combination, handler)
		if err != nil {
			fmt.Fprintln(os.Stderr, "probe_server:", err)
			os.Exit(1)
		}
		fmt.Println("listening on", address)
	}
	io.Copy(io.Discard, os.Stdin)
}
