// SPDX-License-Identifier: Apache-2.0
// tests/e2e/go/client/main.go: runs the cases over each combination, and says which hold.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/apache/thrift/lib/go/thrift"
	"hatrpc.test/peers/peer"
	"hatrpc.test/probe"
)

type session struct {
	combination *peer.Combination
	transport   thrift.TTransport
	client      *probe.ProbeOfTomorrowClient
}

func open(combination *peer.Combination) (*session, error) {
	transport, client, err := peer.Connect(combination)
	if err != nil {
		return nil, err
	}
	return &session{combination, transport, probe.NewProbeOfTomorrowClient(client)}, nil
}

func runCase(combination *peer.Combination, one namedCase) bool {
	session, err := open(combination)
	if err == nil {
		err = one.run(session)
		session.transport.Close()
	}
	if err != nil {
		fmt.Println("FAIL", one.name, strings.ReplaceAll(err.Error(), "\n", " "))
		return false
	}
	fmt.Println("ok", one.name)
	return true
}

func main() {
	combinations, err := peer.ReadCombinations(os.Args[1:], "--connect")
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe_client:", err)
		os.Exit(64)
	}
	allOK := true
	for _, combination := range combinations {
		fmt.Println("run", combination.Address)
		for _, one := range cases {
			if combination.Wants(one.name) {
				allOK = runCase(combination, one) && allOK
			}
		}
	}
	if !allOK {
		os.Exit(1)
	}
}
