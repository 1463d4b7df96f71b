// SPDX-License-Identifier: Apache-2.0
// tests/e2e/go/client/cases.go: checks that calls and their answers arrive whole and in order.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"hatrpc.test/probe"
)

type namedCase struct {
	name string
	run  func(*session) error
}

// The library checks each answer's name and sequence id; it has one call at a time per connection.
var cases = []namedCase{
	{"ping", ping},
	{"add", add},
	{"echo_sizes", echoSizes},
	{"echo_large", echoLarge},
	{"produce_consume", produceConsume},
	{"text", text},
	{"everything", everything},
	{"declared", declared},
	{"undeclared", undeclared},
	{"unknown_method", unknownMethod},
	{"oneway", oneway},
	{"slow", slow},
	{"many", many},
	{"reconnect", reconnect},
	{"connections", connections},
}

var background = context.Background()

func pattern(size int) []byte {
	result := make([]byte, size)
	for i := range result {
		result[i] = byte(i % 251)
	}
	return result
}

func checkSum(s *session, left, right int32) error {
	sum, err := s.client.Add(background, left, right)
	if err == nil && sum != left+right {
		err = fmt.Errorf("%d + %d came as %d", left, right, sum)
	}
	return err
}

func checkEcho(s *session, size int) error {
	came, err := s.client.Echo(background, pattern(size))
	if err == nil && !bytes.Equal(came, pattern(size)) {
		err = fmt.Errorf("%d bytes came back changed", size)
	}
	return err
}

func ping(s *session) error { return s.client.Ping(background) }

func add(s *session) error {
	for _, pair := range [][2]int32{{2, 3}, {-7, 3}, {math.MaxInt32, 0}} {
		if err := checkSum(s, pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

func echoSizes(s *session) error {
	for _, size := range []int{0, 1, 2, 100, 4095, 4096, 4097, 65535, 65536, 65537, 300_000} {
		if err := checkEcho(s, size); err != nil {
			return err
		}
	}
	return nil
}

func echoLarge(s *session) error { return checkEcho(s, s.combination.LargeBytes) }

func produceConsume(s *session) error {
	size := int32(1_000_000)
	if s.combination.LargeBytes < int(size) {
		size = int32(s.combination.LargeBytes)
	}
	came, err := s.client.Produce(background, size)
	if err != nil {
		return err
	}
	if !bytes.Equal(came, pattern(int(size))) {
		return fmt.Errorf("%d bytes came changed", size)
	}
	arrived, err := s.client.Consume(background, came)
	if err == nil && arrived != size {
		err = fmt.Errorf("%d of %d bytes arrived", arrived, size)
	}
	return err
}

func text(s *session) error {
	sent := "quote \" backslash \\ newline \n tab \t Grüße, мир, 世界, €"
	came, err := s.client.EchoText(background, sent)
	if err == nil && came != sent {
		err = fmt.Errorf("%q came back", came)
	}
	return err
}

func everything(s *session) error {
	for _, sent := range []*probe.Everything{fullEverything(), emptyEverything()} {
		came, err := s.client.EchoEverything(background, sent)
		if err != nil {
			return err
		}
		if !same(came, sent) {
			return fmt.Errorf("a struct came back changed: %v", came)
		}
	}
	list, err := s.client.Repeat(background, fullEverything(), 20)
	if err != nil {
		return err
	}
	if len(list) != 20 || !same(list[0], fullEverything()) || !same(list[19], fullEverything()) {
		return errors.New("a list came changed")
	}
	return nil
}

func declared(s *session) error {
	if quotient, err := s.client.Divide(background, 7, 2); err != nil || quotient != 3 {
		return fmt.Errorf("7 / 2 came as %d, %v", quotient, err)
	}
	_, err := s.client.Divide(background, 7, 0)
	var zero *probe.DivisionByZero
	if !errors.As(err, &zero) || zero.Numerator != 7 || zero.Message != "cannot divide by zero" {
		return fmt.Errorf("no declared exception came, but %v", err)
	}
	return ping(s)
}

func undeclared(s *session) error {
	err := s.client.Fail(background, "on purpose")
	var application thrift.TApplicationException
	if !errors.As(err, &application) {
		return fmt.Errorf("no TApplicationException came, but %v", err)
	}
	return ping(s)
}

func unknownMethod(s *session) error {
	_, err := s.client.NotYet(background, 1)
	var application thrift.TApplicationException
	if !errors.As(err, &application) || application.TypeId() != thrift.UNKNOWN_METHOD {
		return fmt.Errorf("no UNKNOWN_METHOD came, but %v", err)
	}
	return ping(s)
}

// The library sends oneway calls with message type CALL.
func oneway(s *session) error {
	who := fmt.Sprintf("go-%d-%s", os.Getpid(), s.combination.Address)
	for i := 0; i < 200; i++ {
		if err := s.client.Note(background, who); err != nil {
			return err
		}
	}
	count, err := s.client.Count(background, who)
	if err == nil && count != 200 {
		err = fmt.Errorf("%d of 200 oneway calls arrived", count)
	}
	if err != nil {
		return err
	}
	return onewayAmongOthers(s, who)
}

// The library sends oneway calls as ordinary ones: only a manifest tells what they are.
func onewayAmongOthers(s *session, who string) error {
	for i := int32(0); i < 100; i++ {
		if err := s.client.Note(background, who); err != nil {
			return err
		}
		if err := checkSum(s, i, i); err != nil {
			return err
		}
	}
	const many = 1100 // more than limits.max_pipelined
	for i := 0; i < many; i++ {
		if err := s.client.Note(background, who); err != nil {
			return err
		}
	}
	count, err := s.client.Count(background, who)
	if err == nil && count != 100+many {
		err = fmt.Errorf("%d of %d oneway calls arrived", count, 100+many)
	}
	if err != nil {
		return err
	}
	return s.client.Note(background, who) // the connection's last call
}

func slow(s *session) error {
	began := time.Now()
	if ms, err := s.client.Slow(background, 50); err != nil || ms != 50 {
		return fmt.Errorf("slow came as %d, %v", ms, err)
	}
	if time.Since(began) < 50*time.Millisecond {
		return errors.New("too early")
	}
	return nil
}

func many(s *session) error {
	for i := int32(0); i < 300; i++ {
		if err := checkSum(s, i, i); err != nil {
			return err
		}
	}
	return nil
}

func reconnect(s *session) error {
	for i := int32(0); i < 5; i++ {
		if err := s.transport.Close(); err != nil {
			return err
		}
		next, err := open(s.combination)
		if err != nil {
			return err
		}
		*s = *next
		if err := checkSum(s, i, 1); err != nil {
			return err
		}
	}
	return nil
}

// Eight connections call at the same time.
func connections(s *session) error {
	s.transport.Close() // so that a server with few threads has one to spare
	failures := make(chan error, 8)
	var all sync.WaitGroup
	for i := int32(0); i < 8; i++ {
		all.Add(1)
		go func(i int32) {
			defer all.Done()
			own, err := open(s.combination)
			if err != nil {
				failures <- err
				return
			}
			defer own.transport.Close()
			for call := int32(0); call < 20; call++ {
				if err := checkSum(own, i, call); err != nil {
					failures <- err
					return
				}
			}
		}(i)
	}
	all.Wait()
	close(failures)
	return <-failures
}
