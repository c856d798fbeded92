package testcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// container is one container: a process with a mount namespace of its own.
type container struct {
	pod     *pod
	spec    *corev1.Container
	log     string
	process *exec.Cmd
	started time.Time
	ended   time.Time
	code    int
	signal  int
	message string
	done    chan struct{}
	once    sync.Once
	// of a container that is started again
	restarts int32
	last     *corev1.ContainerStateTerminated
	ready    bool // by its probes; guarded by the pod
}

// order contains everything that a new process needs to become a container. It is passed in an environment variable.
type order struct {
	Root     string // an empty folder, the root of the container
	Mounts   []mount
	Command  []string
	Env      []string
	Dir      string
	UID, GID int
	ReadOnly bool
}

type mount struct {
	From, To string
	ReadOnly bool
}

const orderVariable = "MLPERF_GO_TEST_CONTAINER"

// Main runs the tests of a package, or becomes a container where the process was started as one.
func Main(m *testing.M) {
	if text := os.Getenv(orderVariable); text != "" {
		fmt.Fprintln(os.Stderr, "container:", becomeContainer(text))
		os.Exit(127)
	}
	code := m.Run()
	if shared.plane != nil {
		shared.plane.stop(code != 0)
	}
	os.Exit(code)
}

// becomeContainer makes the root folder, enters it and executes the command. It returns only on failure.
func becomeContainer(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("tmpfs", o.Root, "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mount root: %w", err)
	}
	for _, m := range o.Mounts {
		if err := bind(o.Root, m); err != nil {
			return fmt.Errorf("mount %s at %s: %w", m.From, m.To, err)
		}
	}
	for _, dir := range []string{"tmp", "work"} {
		if err := os.MkdirAll(filepath.Join(o.Root, dir), 0o777); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", filepath.Join(o.Root, dir), "tmpfs", 0, "mode=1777"); err != nil {
			return err
		}
	}
	if o.ReadOnly {
		if err := unix.Mount("", o.Root, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
			return err
		}
	}
	if err := unix.Chroot(o.Root); err != nil {
		return err
	}
	if err := os.Chdir(o.Dir); err != nil {
		return err
	}
	if os.Getuid() == 0 && o.UID != 0 {
		if err := errors.Join(syscall.Setgroups([]int{o.GID}), syscall.Setgid(o.GID), syscall.Setuid(o.UID)); err != nil {
			return err
		}
	}
	path := o.Command[0]
	if !strings.Contains(path, "/") {
		os.Setenv("PATH", defaultPath)
		found, err := exec.LookPath(path)
		if err != nil {
			return err
		}
		path = found
	}
	return syscall.Exec(path, o.Command, o.Env)
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func bind(root string, m mount) error {
	to := filepath.Join(root, m.To)
	info, err := os.Stat(m.From)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
		err = os.WriteFile(to, nil, 0o644)
	}
	// The mount point of a volume below a read-only folder of the host exists already; if not, the bind mount fails
	// below.
	if err != nil && !errors.Is(err, syscall.EROFS) {
		return err
	}
	if err := unix.Mount(m.From, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if !m.ReadOnly {
		return nil
	}
	return unix.Mount("", to, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

// command returns a process in the container's namespace: its own command, or one that exec runs in it.
func (c *container) command(arguments []string) (*exec.Cmd, error) {
	env, err := c.pod.environment(c.spec)
	if err != nil {
		return nil, err
	}
	image := c.pod.node.images[c.spec.Image]
	root, err := os.MkdirTemp(c.pod.dir, "root-")
	if err != nil {
		return nil, err
	}
	o := order{Root: root, Command: arguments, Env: env, Dir: "/work", ReadOnly: c.readOnly()}
	if c.spec.WorkingDir != "" {
		o.Dir = c.spec.WorkingDir
	}
	o.UID, o.GID = c.user()
	for _, dir := range []string{"/usr", "/etc", "/bin", "/lib", "/lib64", "/sbin", "/proc", "/dev"} {
		if _, err := os.Stat(dir); err == nil {
			o.Mounts = append(o.Mounts, mount{From: dir, To: dir, ReadOnly: dir != "/proc" && dir != "/dev"})
		}
	}
	for to, from := range image.Folders {
		o.Mounts = append(o.Mounts, mount{From: from, To: to, ReadOnly: true})
	}
	for _, v := range c.spec.VolumeMounts {
		o.Mounts = append(o.Mounts, mount{From: filepath.Join(c.pod.volume(v.Name), v.SubPath), To: v.MountPath,
			ReadOnly: v.ReadOnly})
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.Command(self)
	process.Env = []string{orderVariable + "=" + string(text)}
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		process.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		process.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		process.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return process, nil
}

func (c *container) readOnly() bool {
	s := c.spec.SecurityContext
	return s != nil && s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem
}

// user returns the user and group of the container: those of its security context or of the pod's, or else an arbitrary
// user in group 0, as OpenShift chooses one.
func (c *container) user() (uid, gid int) {
	uid, gid = 1000650000, 0
	if s := c.pod.spec.Spec.SecurityContext; s != nil {
		if s.RunAsUser != nil {
			uid = int(*s.RunAsUser)
		}
		if s.RunAsGroup != nil {
			gid = int(*s.RunAsGroup)
		}
	}
	if s := c.spec.SecurityContext; s != nil && s.RunAsUser != nil {
		uid = int(*s.RunAsUser)
	}
	return uid, gid
}

func (c *container) start() error {
	arguments := append([]string{}, c.spec.Command...)
	if len(arguments) == 0 {
		arguments = append(arguments, c.pod.node.images[c.spec.Image].Entrypoint...)
	}
	arguments = append(arguments, c.spec.Args...)
	env, err := c.pod.environment(c.spec)
	if err != nil {
		return err
	}
	for i := range arguments {
		arguments[i] = expand(arguments[i], env)
	}
	process, err := c.command(arguments)
	if err != nil {
		return err
	}
	log, err := os.Create(c.log)
	if err != nil {
		return err
	}
	defer log.Close()
	process.Stdout, process.Stderr = log, log
	c.process, c.started = process, time.Now()
	return startTied(process, c.finish)
}

func (c *container) finish() {
	c.ended = time.Now()
	state := c.process.ProcessState.Sys().(syscall.WaitStatus)
	c.code = state.ExitStatus()
	if state.Signaled() {
		c.signal = int(state.Signal())
		c.code = 128 + c.signal
	}
	c.once.Do(func() { close(c.done) })
}

// fail ends a container that could not start.
func (c *container) fail(err error) {
	c.code, c.message, c.ended = 128, err.Error(), time.Now()
	c.once.Do(func() { close(c.done) })
}

func (c *container) wait() { <-c.done }

func (c *container) terminate() { c.signalGroup(syscall.SIGTERM) }
func (c *container) kill()      { c.signalGroup(syscall.SIGKILL) }

func (c *container) signalGroup(s syscall.Signal) {
	if c.process == nil || c.process.Process == nil {
		return
	}
	select {
	case <-c.done:
	default:
		syscall.Kill(-c.process.Process.Pid, s)
	}
}

func (c *container) status(reason string) corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: c.spec.Name, Image: c.spec.Image, ImageID: c.spec.Image,
		ContainerID: "test://" + string(c.pod.spec.UID) + "/" + c.spec.Name}
	s.RestartCount, s.LastTerminationState.Terminated = c.restarts, c.last
	select {
	case <-c.done:
		s.State.Terminated = c.terminated(reason)
	default:
		if c.started.IsZero() {
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off restarting"}
			return s
		}
		s.Ready = c.ready || c.spec.ReadinessProbe == nil
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.started)}
		yes := true
		s.Started = &yes
	}
	return s
}

// terminated describes the end of a container.
func (c *container) terminated(reason string) *corev1.ContainerStateTerminated {
	why := "Completed"
	if c.code != 0 {
		why = "Error"
	}
	if reason != "" && c.signal != 0 {
		why = reason
	}
	return &corev1.ContainerStateTerminated{ExitCode: int32(c.code), Signal: int32(c.signal), Reason: why,
		Message: c.message, StartedAt: metav1.NewTime(c.started), FinishedAt: metav1.NewTime(c.ended)}
}

// exec runs a command in the container with the streams of a client.
func (c *container) exec(arguments []string, in io.Reader, out, errors io.Writer, done <-chan struct{}) (int, error) {
	process, err := c.command(arguments)
	if err != nil {
		return 0, err
	}
	process.Stdout, process.Stderr = out, errors
	var stdin io.WriteCloser
	if in != nil {
		if stdin, err = process.StdinPipe(); err != nil {
			return 0, err
		}
	}
	over := make(chan struct{})
	if err := startTied(process, func() { close(over) }); err != nil {
		return 0, err
	}
	if in != nil {
		go func() {
			io.Copy(stdin, in)
			stdin.Close()
		}()
	}
	select {
	case <-over:
		return process.ProcessState.ExitCode(), nil
	case <-done: // the client is gone
	case <-c.done: // the container is
	}
	syscall.Kill(-process.Process.Pid, syscall.SIGKILL)
	<-over
	return process.ProcessState.ExitCode(), nil
}
