// SPDX-License-Identifier: Apache-2.0

// tests/e2e/go/reader/main.go: as tests/e2e/python/reader.py.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/thrift/lib/go/thrift"
	"hatrpc.test/checked"
)

// Notes who was called.
type handler struct{ calls []string }

func (h *handler) note(name string) { h.calls = append(h.calls, name) }

func (h *handler) None(context.Context) error { h.note("none"); return nil }
func (h *handler) Add(context.Context, int64, int64) (int64, error) {
	h.note("add")
	return 0, nil
}
func (h *handler) Put(context.Context, string, *checked.Node) error { h.note("put"); return nil }
func (h *handler) Many(context.Context, []string, map[string]*checked.Node, []int16) ([]string, error) {
	h.note("many")
	return nil, nil
}
func (h *handler) Note(context.Context, []int64, bool, []*checked.Either) error {
	h.note("note")
	return nil
}
func (h *handler) Danger(context.Context, string) error { h.note("danger"); return nil }

var configuration = &thrift.TConfiguration{}

func protocolOf(encoding byte, memory *thrift.TMemoryBuffer) thrift.TProtocol {
	switch encoding {
	case 0, 1:
		return thrift.NewTBinaryProtocolConf(memory, configuration)
	case 2:
		return thrift.NewTCompactProtocolConf(memory, configuration)
	default:
		return thrift.NewTJSONProtocol(memory)
	}
}

func serve(noted *handler, encoding byte, request []byte) error {
	processor := checked.NewCheckedProcessor(noted)
	in := thrift.NewTMemoryBuffer()
	in.Write(request)
	reader := protocolOf(encoding, in)
	next := func() (bool, error) {
		return processor.Process(context.Background(), reader, protocolOf(encoding, thrift.NewTMemoryBuffer()))
	}
	ok, err := next()
	if !ok || err != nil {
		return fmt.Errorf("refused: %v", err)
	}
	// The reader of JSON may hold bytes that it has not used.
	if _, err := next(); in.Len() != 0 || err == nil || !errors.Is(err, io.EOF) {
		return fmt.Errorf("it does not end there: %d bytes, %v", in.Len(), err)
	}
	return nil
}

func main() {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	count := 0
	for {
		var head [2]byte
		if _, err := io.ReadFull(input, head[:]); err != nil {
			break
		}
		name := make([]byte, head[1])
		io.ReadFull(input, name)
		var size uint32
		binary.Read(input, binary.BigEndian, &size)
		request := make([]byte, size)
		io.ReadFull(input, request)
		count++
		noted := &handler{}
		err := serve(noted, head[0], request)
		if err != nil || len(noted.calls) != 1 || noted.calls[0] != string(name) {
			fmt.Printf("request %d, of %s: %v %v: %x\n", count, name, noted.calls, err, request)
			os.Exit(1)
		}
	}
	fmt.Printf("%d requests\n", count)
}
