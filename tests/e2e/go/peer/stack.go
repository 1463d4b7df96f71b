// SPDX-License-Identifier: Apache-2.0
// tests/e2e/go/peer/stack.go: makes the transports and protocols of Thrift's Go library by name.
package peer

import (
	"compress/zlib"
	"fmt"
	"net"
	"net/http"

	"github.com/apache/thrift/lib/go/thrift"
)

const bufferBytes = 8192

// config allows for frames over the library's own limit of 16,384,000 bytes.
func config(c *Combination) *thrift.TConfiguration {
	id := thrift.THeaderProtocolBinary
	if c.Protocol == "compact" {
		id = thrift.THeaderProtocolCompact
	}
	return &thrift.TConfiguration{
		MaxFrameSize:      64 << 20,
		MaxMessageSize:    1 << 30,
		ConnectTimeout:    c.Timeout,
		SocketTimeout:     c.Timeout,
		THeaderProtocolID: &id,
	}
}

// Transports makes a server's transports; a client's too, but for HTTP.
func Transports(c *Combination) (thrift.TTransportFactory, error) {
	switch c.Transport {
	case "buffered":
		return thrift.NewTBufferedTransportFactory(bufferBytes), nil
	case "framed", "framed_header":
		buffered := thrift.NewTBufferedTransportFactory(bufferBytes)
		return thrift.NewTFramedTransportFactoryConf(buffered, config(c)), nil
	case "header", "header_zlib":
		return thrift.NewTHeaderTransportFactoryConf(nil, config(c)), nil
	case "zlib":
		return thrift.NewTZlibTransportFactory(zlib.DefaultCompression), nil
	}
	return nil, fmt.Errorf("no transport named %s", c.Transport)
}

// Protocols makes the protocols of either side.
func Protocols(c *Combination) (thrift.TProtocolFactory, error) {
	switch c.Transport {
	case "header", "header_zlib", "framed_header":
		return thrift.NewTHeaderProtocolFactoryConf(config(c)), nil
	}
	switch c.Protocol {
	case "binary":
		return thrift.NewTBinaryProtocolFactoryConf(config(c)), nil
	case "compact":
		return thrift.NewTCompactProtocolFactoryConf(config(c)), nil
	case "json":
		return thrift.NewTJSONProtocolFactory(), nil
	}
	return nil, fmt.Errorf("no protocol named %s", c.Protocol)
}

func clientTransport(c *Combination) (thrift.TTransport, error) {
	if c.Transport == "http" {
		return thrift.NewTHttpClientWithOptions("http://"+c.Address+"/probe",
			thrift.THttpClientOptions{Client: &http.Client{Timeout: c.Timeout}})
	}
	var socket thrift.TTransport = thrift.NewTSocketConf(c.Address, config(c))
	if path := c.UnixPath(); path != "" {
		socket = thrift.NewTSocketFromAddrConf(&net.UnixAddr{Name: path, Net: "unix"}, config(c))
	}
	factory, err := Transports(c)
	if err != nil {
		return nil, err
	}
	transport, err := factory.GetTransport(socket)
	if header, ok := transport.(*thrift.THeaderTransport); ok && c.Transport == "header_zlib" {
		err = header.AddTransform(thrift.TransformZlib) // the server answers in kind
	}
	return transport, err
}

// Connect opens a transport and returns it with a client for generated code.
func Connect(c *Combination) (thrift.TTransport, thrift.TClient, error) {
	transport, err := clientTransport(c)
	if err != nil {
		return nil, nil, err
	}
	protocols, err := Protocols(c)
	if err != nil {
		return nil, nil, err
	}
	if err := transport.Open(); err != nil {
		return nil, nil, err
	}
	in, out := protocols.GetProtocol(transport), protocols.GetProtocol(transport)
	if c.Multiplexed != "" {
		out = thrift.NewTMultiplexedProtocol(out, c.Multiplexed)
	}
	return transport, thrift.NewTStandardClient(in, out), nil
}
