// SPDX-License-Identifier: Apache-2.0
// tests/e2e/go/server/handler.go: answers the calls of probe.thrift.
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"hatrpc.test/probe"
)

type handler struct {
	mutex sync.Mutex
	notes map[string]int32
}

func (h *handler) Ping(context.Context) error { return nil }

func (h *handler) Add(_ context.Context, left, right int32) (int32, error) {
	return left + right, nil
}

func (h *handler) Echo(_ context.Context, data []byte) ([]byte, error) { return data, nil }

func (h *handler) EchoText(_ context.Context, text string) (string, error) { return text, nil }

func (h *handler) EchoEverything(_ context.Context, value *probe.Everything) (*probe.Everything,
	error) {
	return value, nil
}

func (h *handler) Repeat(_ context.Context, value *probe.Everything, times int32) (
	[]*probe.Everything, error) {
	result := make([]*probe.Everything, times)
	for i := range result {
		result[i] = value
	}
	return result, nil
}

func (h *handler) Divide(_ context.Context, numerator, denominator int32) (int32, error) {
	if denominator == 0 {
		return 0, &probe.DivisionByZero{Numerator: numerator, Message: "cannot divide by zero"}
	}
	return numerator / denominator, nil
}

func (h *handler) Fail(_ context.Context, why string) error { return errors.New(why) }

func (h *handler) Note(_ context.Context, who string) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.notes[who]++
	return nil
}

func (h *handler) Count(_ context.Context, who string) (int32, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	count := h.notes[who]
	delete(h.notes, who)
	return count, nil
}

func (h *handler) Slow(_ context.Context, ms int32) (int32, error) {
	time.Sleep(time.Duration(ms) * time.Millisecond)
	return ms, nil
}

func (h *handler) Hurried(ctx context.Context, ms int32) (int32, error) { return h.Slow(ctx, ms) }

func (h *handler) Produce(_ context.Context, size int32) ([]byte, error) {
	result := make([]byte, size)
	for i := range result {
		result[i] = byte(i % 251)
	}
	return result, nil
}

func (h *handler) Consume(_ context.Context, data []byte) (int32, error) {
	return int32(len(data)), nil
}
