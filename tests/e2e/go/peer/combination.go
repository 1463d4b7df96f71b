// SPDX-License-Identifier: Apache-2.0
// tests/e2e/go/peer/combination.go: reads the combinations that a probe client or server shall run.
package peer

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Combination is one --connect or --listen and the options after it; tests/e2e/README.md lists them.
type Combination struct {
	Address     string // HOST:PORT or unix:PATH
	Transport   string
	Protocol    string
	Server      string
	Multiplexed string
	Cases       []string
	Skipped     []string
	Timeout     time.Duration
	LargeBytes  int
}

func contains(names []string, name string) bool {
	for _, one := range names {
		if one == name {
			return true
		}
	}
	return false
}

// Wants tells whether the case of that name shall run.
func (c *Combination) Wants(name string) bool {
	return !contains(c.Skipped, name) && (len(c.Cases) == 0 || contains(c.Cases, name))
}

// UnixPath is empty for TCP.
func (c *Combination) UnixPath() string {
	if strings.HasPrefix(c.Address, "unix:") {
		return c.Address[len("unix:"):]
	}
	return ""
}

func (c *Combination) set(option, value string) error {
	var err error
	var number int
	switch option {
	case "--transport":
		c.Transport = value
	case "--protocol":
		c.Protocol = value
	case "--server":
		c.Server = value
	case "--multiplexed":
		c.Multiplexed = value
	case "--case":
		c.Cases = append(c.Cases, value)
	case "--skip":
		c.Skipped = append(c.Skipped, value)
	case "--timeout-ms":
		number, err = strconv.Atoi(value)
		c.Timeout = time.Duration(number) * time.Millisecond
	case "--large":
		c.LargeBytes, err = strconv.Atoi(value)
	default:
		err = fmt.Errorf("unknown option %s", option)
	}
	return err
}

// ReadCombinations reads the command line; `first` is the option that opens a combination.
func ReadCombinations(words []string, first string) ([]*Combination, error) {
	var result []*Combination
	for i := 0; i+1 < len(words); i += 2 {
		if words[i] == first {
			result = append(result, &Combination{
				Address: words[i+1], Transport: "framed", Protocol: "binary", Server: "simple",
				Timeout: 20 * time.Second, LargeBytes: 16 << 20})
		} else if len(result) == 0 {
			return nil, fmt.Errorf("%s must come before %s", first, words[i])
		} else if err := result[len(result)-1].set(words[i], words[i+1]); err != nil {
			return nil, err
		}
	}
	if len(result) == 0 || len(words)%2 != 0 {
		return nil, fmt.Errorf("expected %s ADDRESS and options with a value each", first)
	}
	return result, nil
}
