package faults

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// Listen makes the server answer as the port mode says, and wraps the connections that it
// accepts.
func (b behavior) Listen(server *http.Server, ln net.Listener) net.Listener {
	server.Handler = b.r.atPort(server.Handler)
	return acceptor{ln, b.r}
}

// acceptor wraps accepted connections, in TLS too if the runtime has a certificate.
type acceptor struct {
	net.Listener
	r *Runtime
}

// Accept returns the next connection. With TLS, net/http doesn't recognize it as such.
// Otherwise the server would answer plain HTTP clients with an explanation, whereas the
// real gateway just closes the connection.
func (l acceptor) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.r.mu.Lock()
	s := &socket{Conn: c, r: l.r, silent: l.r.faults.portReleased, fresh: true, ended: make(chan struct{})}
	secure := l.r.certificate != nil
	l.r.mu.Unlock()
	if !secure {
		return s, nil
	}
	return opaqueConn{tls.Server(s, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: l.r.currentCertificate})}, nil
}

func (r *Runtime) currentCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.certificate, nil
}

type opaqueConn struct{ *tls.Conn }

// socket is an accepted TCP connection. It reads and sends nothing while the runtime is
// frozen, and reads nothing until a silent port that accepted it is released.
type socket struct {
	net.Conn
	r      *Runtime
	silent <-chan struct{} // closed when the port is released; nil if it was not silent
	fresh  bool            // nothing was read yet
	once   sync.Once
	ended  chan struct{} // closed by Close

	mu   sync.Mutex // guards late
	late []byte     // to be sent after the freeze
}

// NetConn returns the TCP connection.
func (s *socket) NetConn() net.Conn { return s.Conn }

// Read reads from the connection. It holds what it read until the connection may go on.
func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err == nil {
		s.hold()
	}
	s.fresh = false
	return n, err
}

// hold waits until the port is released and the runtime is not frozen, or until the
// connection is closed.
func (s *socket) hold() {
	for wait := s.waiting(); wait != nil; wait = s.waiting() {
		if s.fresh {
			s.r.heldAtPort.Add(1)
		}
		closed := false
		select {
		case <-wait:
		case <-s.ended:
			closed = true
		}
		if s.fresh {
			s.r.heldAtPort.Add(-1)
		}
		if closed {
			return
		}
	}
}

// waiting returns the channel that closes when the connection may go on, or nil if it may.
func (s *socket) waiting() <-chan struct{} {
	select {
	case <-s.silent:
		s.silent = nil
	default:
	}
	if s.silent != nil {
		return s.silent
	}
	if f := s.r.frozen.Load(); f != nil {
		return f.ended
	}
	return nil
}

// Write writes to the connection. During a freeze, it keeps the data and sends it
// afterwards.
func (s *socket) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.r.frozen.Load(); f != nil {
		if len(s.late) == 0 {
			s.r.work.Go(func() { s.thaw(f.ended) })
		}
		s.late = append(s.late, p...)
		return len(p), nil
	}
	if err := s.flush(); err != nil {
		return 0, err
	}
	return s.Conn.Write(p)
}

// thaw sends what was written during a freeze, when the freeze ends.
func (s *socket) thaw(frozen <-chan struct{}) {
	select {
	case <-frozen:
	case <-s.ended:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.flush() // a broken connection fails at the next Read
}

// flush sends what was written during a freeze. The caller must hold s.mu.
func (s *socket) flush() error {
	if len(s.late) == 0 {
		return nil
	}
	late := s.late
	s.late = nil
	_, err := s.Conn.Write(late)
	return err
}

// Close closes the connection, even during a freeze.
func (s *socket) Close() error {
	s.once.Do(func() { close(s.ended) })
	return s.Conn.Close()
}

// reset makes the connection close abruptly: buffered data is discarded and the peer
// receives a TCP reset.
func reset(c net.Conn) {
	for {
		inner, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = inner.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// Freeze makes every connection half open: the socket stays open, but the runtime neither
// reads from it nor sends answers, events, pings or a close frame. New connections are
// accepted but never answered. When the fault is turned off, everything continues where
// it stopped. A restart disconnects frozen connections.
func (r *Runtime) Freeze(on bool) {
	if on {
		r.frozen.CompareAndSwap(nil, &freeze{ended: make(chan struct{})})
	} else if f := r.frozen.Swap(nil); f != nil {
		close(f.ended)
	}
}

// Frozen reports whether the runtime is frozen.
func (b behavior) Frozen() bool { return b.r.frozen.Load() != nil }

// freeze is a time during which the runtime is frozen.
type freeze struct{ ended chan struct{} }
