package faultproxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
)

// A Lag is between an API server and etcd, and can hold what etcd answers to watches: then the caches of the API server are behind, and it
// answers from the past.
type Lag struct {
	server *grpc.Server
	etcd   *grpc.ClientConn
	on     string // its address

	mu   sync.Mutex    // guards thaw
	thaw chan struct{} // is closed when the answers pass
}

// NewLag returns a Lag on an address of this machine, before etcd, which are HOST:PORT. It must be closed.
func NewLag(on, etcd string) (*Lag, error) {
	// The messages are passed on as they are.
	to, err := grpc.NewClient(etcd, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", on)
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	l := &Lag{etcd: to, on: listener.Addr().String(), thaw: make(chan struct{})}
	close(l.thaw)
	l.server = grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(l.pass), grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	go func() { _ = l.server.Serve(listener) }() // it ends with Close
	return l, nil
}

const maxMessage = 1 << 30

// Address returns the address of the Lag.
func (l *Lag) Address() string { return l.on }

// Close ends all connections.
func (l *Lag) Close() {
	l.server.Stop()
	_ = l.etcd.Close()
}

// Freeze holds the answers to watches until Thaw.
func (l *Lag) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.thaw = make(chan struct{})
}

// Thaw passes on the answers that were held, and the next ones.
func (l *Lag) Thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.thaw)
}

func (l *Lag) thawed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.thaw
}

// watchMethod is the call of etcd that watches.
const watchMethod = "/etcdserverpb.Watch/Watch"

// pass passes a call on to etcd.
func (l *Lag) pass(_ any, from grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(from)
	header, _ := metadata.FromIncomingContext(from.Context())
	header = header.Copy()
	delete(header, ":authority")
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(from.Context(), header))
	defer cancel()
	to, err := l.etcd.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		return err
	}
	go ask(from, to)
	for {
		var answer []byte
		if err := to.RecvMsg(&answer); err != nil {
			from.SetTrailer(to.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if method == watchMethod {
			select {
			case <-l.thawed():
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := from.SendMsg(&answer); err != nil {
			return err
		}
	}
}

// ask passes on the messages of the API server.
func ask(from grpc.ServerStream, to grpc.ClientStream) {
	for {
		var message []byte
		if from.RecvMsg(&message) != nil {
			_ = to.CloseSend()
			return
		}
		if to.SendMsg(&message) != nil {
			return
		}
	}
}

// raw is a codec that does not decode.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(message any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*message.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, message any) error {
	*message.(*[]byte) = data.Materialize()
	return nil
}
