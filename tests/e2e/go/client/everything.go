// SPDX-License-Identifier: Apache-2.0
// tests/e2e/go/client/everything.go: fills each field of Everything, as every language does.
package main

import (
	"math"
	"sort"

	"hatrpc.test/probe"
)

func point(x, y int32) *probe.Point { return &probe.Point{X: x, Y: y} }

func fullEverything() *probe.Everything {
	corner, present := "corner", "here"
	labelled := point(1, -1)
	labelled.Label = &corner
	numbers := make([]int32, 40)
	for i := range numbers {
		numbers[i] = int32(i*i - 100)
	}
	return &probe.Everything{
		Yes: true, No: false, Tiny: math.MinInt8, ShortOne: math.MinInt16, Medium: math.MinInt32,
		Large: math.MinInt64, Real: -2.5e-300, Text: "Grüße", Blob: []byte{0, 0xff, 0x80, 1},
		Colour: probe.Colour_BLUE, Instant: 1_700_000_000_123_456_789, Point: labelled,
		Shape: &probe.Shape{Polygon: []*probe.Point{point(0, 0), point(3, 0), point(0, 4)}},
		Empty: &probe.Empty{}, Numbers: numbers, Points: []*probe.Point{point(5, 6), point(7, 8)},
		Words:  []string{"", "alpha", "beta"},
		Counts: map[string]int32{"one": 1, "minus one": -1},
		Index:  map[int32][]string{1: {"a", "b"}, -2: {}},
		Flags:  [][]bool{{true, false, true}, {}, {false}},
		Blobs:  [][]byte{{0}, {}, []byte("abc")}, Present: &present,
		Reals: []float64{0, 1.5, -1e300}, FarAway: 200,
	}
}

func emptyEverything() *probe.Everything {
	radius := 0.0
	return &probe.Everything{Colour: probe.Colour_RED, Point: point(0, 0),
		Shape: &probe.Shape{Radius: &radius}, Empty: &probe.Empty{}}
}

// A set's order is the sender's own business.
func same(came, sent *probe.Everything) bool {
	sort.Strings(came.Words)
	return came.Equals(sent)
}
