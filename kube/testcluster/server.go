package testcluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	remoteconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/kubelet/pkg/cri/streaming/portforward"
	remote "k8s.io/kubelet/pkg/cri/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// nodeServer is the port of a node to which the API server forwards exec, logs and ports.
type nodeServer struct {
	node   *Node
	server *http.Server
	port   int32
	ctx    context.Context
	cancel context.CancelFunc
}

func newNodeServer(n *Node) (*nodeServer, error) {
	certificate, err := tls.LoadX509KeyPair(n.cluster.certs.serverCert, n.cluster.certs.serverKey)
	if err != nil {
		return nil, err
	}
	// Streams of exec are upgraded connections, which only HTTP/1.1 has.
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate},
		NextProtos: []string{"http/1.1"}})
	if err != nil {
		return nil, err
	}
	s := &nodeServer{node: n}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if s.port, err = portOf(l.Addr()); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/exec/{namespace}/{pod}/{container}", s.exec)
	mux.HandleFunc("/portForward/{namespace}/{pod}", s.forward)
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", s.logs)
	s.server = &http.Server{Handler: mux, BaseContext: func(net.Listener) context.Context { return s.ctx }}
	go s.server.Serve(l)
	return s, nil
}

func (s *nodeServer) close() {
	s.cancel()
	s.server.Close()
}

func (s *nodeServer) container(w http.ResponseWriter, r *http.Request) *container {
	p, err := s.node.find(r.PathValue("namespace"), r.PathValue("pod"))
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.containers {
			if c.spec.Name == r.PathValue("container") {
				return c
			}
		}
	}
	http.Error(w, "container not found", http.StatusNotFound)
	return nil
}

func (s *nodeServer) exec(w http.ResponseWriter, r *http.Request) {
	c := s.container(w, r)
	if c == nil {
		return
	}
	options, err := remote.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remote.ServeExec(w, r, executor{c}, r.PathValue("pod"), "", c.spec.Name, r.URL.Query()["command"], options,
		time.Hour, 30*time.Second, remoteconsts.SupportedStreamingProtocols)
}

// executor runs commands in a container for the streaming server of the kubelet.
type executor struct{ container *container }

func (e executor) ExecInContainer(ctx context.Context, _ string, _ types.UID, _ string, command []string, in io.Reader,
	out, errors io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	code, err := e.container.exec(command, in, writerOf(out), writerOf(errors), ctx.Done())
	if err != nil {
		return err
	}
	if code != 0 {
		return utilexec.CodeExitError{Err: exitError(code), Code: code}
	}
	return nil
}

func (s *nodeServer) forward(w http.ResponseWriter, r *http.Request) {
	if _, err := s.node.find(r.PathValue("namespace"), r.PathValue("pod")); err != nil {
		http.Error(w, "pod not found", http.StatusNotFound)
		return
	}
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	portforward.ServePortForward(w, r, forwarder{}, r.PathValue("pod"), "", options, time.Hour, 30*time.Second,
		portforward.SupportedProtocols)
}

// forwarder connects streams to ports of pods, which all share the network of the host.
type forwarder struct{}

func (forwarder) PortForward(_ context.Context, _ string, _ types.UID, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer c.Close()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]io.ReadWriter{{c, stream}, {stream, c}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // until one of both is closed
			done <- struct{}{}
		}()
	}
	<-done
	return nil
}

type exitError int

func (e exitError) Error() string { return "exit status" }

// writerOf keeps a nil stream a nil writer.
func writerOf(w io.WriteCloser) io.Writer {
	if w == nil {
		return nil
	}
	return w
}

func (s *nodeServer) logs(w http.ResponseWriter, r *http.Request) {
	c := s.container(w, r)
	if c == nil {
		return
	}
	path := c.log
	if strings.EqualFold(r.URL.Query().Get("previous"), "true") {
		path += previousLog
	}
	log, err := os.Open(path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer log.Close()
	follow := strings.EqualFold(r.URL.Query().Get("follow"), "true")
	for {
		if _, err := io.Copy(w, log); err != nil || !follow {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-c.done:
			io.Copy(w, log)
			return
		case <-r.Context().Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
