package servers

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/plural"
)

// Fleet is the set of running servers of a plan. One goroutine per replica starts, watches and stops it. The methods
// may be called concurrently.
type Fleet struct {
	plan   *Plan
	notify func(text string)
	lock   *os.File

	starts  chan func()    // executed by the only thread that starts processes
	starter sync.WaitGroup // that thread
	stop    context.CancelCauseFunc
	ends    sync.WaitGroup // the replicas' goroutines
	ready   chan struct{}  // one value per replica that serves the model
	failed  chan error     // one value per replica that failed
	once    sync.Once
	stopErr error

	mu    sync.Mutex
	state State
	errs  []error // of stopping servers and writing the state file
}

// errStop is the cause with which Stop cancels the replicas.
var errStop = errors.New("the servers are stopped")

// Start starts every replica of a plan and returns when all of them serve the model. If one fails, Start stops all of
// them and returns an error with the end of that replica's log. notify receives a line for each change, from one
// goroutine at a time.
func Start(ctx context.Context, p *Plan, notify func(text string)) (*Fleet, error) {
	lock, err := lockDir(p.Dir, p.access)
	if err != nil {
		return nil, err
	}
	for _, r := range p.Replicas {
		if err := portFree(r.address); err != nil {
			return nil, errors.Join(fmt.Errorf("replica %d cannot listen on %s: %w; stop the program that listens there (find "+
				"it with ss -ltnp), or choose another port", r.Index, r.address, err), lock.Close())
		}
	}
	self, ok := readProc(os.Getpid())
	if !ok {
		return nil, errors.Join(errors.New("/proc is not mounted, and supervising servers requires it"), lock.Close())
	}
	space, err := pidSpace()
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	f := &Fleet{
		plan: p, notify: notify, lock: lock, starts: make(chan func()), ready: make(chan struct{}, len(p.Replicas)),
		failed: make(chan error, len(p.Replicas)),
		state: State{Schema: Schema, ID: rand.Text(), Space: space, Supervisor: self.identity, Started: time.Now(),
			Plan: p.Shown(), StopLimit: p.StopTimeout + groupGrace + killGrace,
			Environment: p.secrets.inherited(p.environ, p.set), HeartbeatInterval: p.HeartbeatInterval,
			HeartbeatTimeout: p.HeartbeatTimeout},
	}
	for _, r := range p.Replicas {
		f.state.Replicas = append(f.state.Replicas, ReplicaState{Index: r.Index, URL: r.URL, Health: Starting})
	}
	if err := f.write(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	f.startAll()
	if err := f.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, f.Stop())
	}
	return f, nil
}

func (f *Fleet) startAll() {
	f.starter.Go(func() {
		defer crash.Catch()
		// The kernel kills the children when the thread that started them ends, so this thread outlives them.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for start := range f.starts {
			start()
		}
	})
	ctx, stop := context.WithCancelCause(context.Background())
	f.stop = stop
	for _, r := range f.plan.Replicas {
		f.ends.Go(func() {
			defer crash.Catch()
			f.run(ctx, r)
		})
	}
}

func (f *Fleet) awaitReady(ctx context.Context) error {
	for range f.plan.Replicas {
		select {
		case <-f.ready:
		case err := <-f.failed:
			return err
		case <-ctx.Done():
			return fmt.Errorf("starting the servers was interrupted: %w", context.Cause(ctx))
		}
	}
	return nil
}

// Wait blocks until a replica exits by itself and returns an error with the end of its log, or until ctx is done and
// returns nil.
func (f *Fleet) Wait(ctx context.Context) error {
	select {
	case err := <-f.failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Err returns the error of a replica that exited by itself, once per replica, or nil.
func (f *Fleet) Err() error {
	select {
	case err := <-f.failed:
		return err
	default:
		return nil
	}
}

// Ended returns an error that names the first replica that exited by itself, or nil. Replicas are not restarted, so
// later calls return an error too.
func (f *Fleet) Ended() error {
	for i, r := range f.State().Replicas {
		if r.Died != nil {
			return fmt.Errorf("replica %d (%s) exited by itself; its log is %s", i, r.URL, f.plan.Replicas[i].Log)
		}
	}
	return nil
}

// Stop ends every server and verifies that none of their processes and listeners remains. Further calls return the same
// error.
func (f *Fleet) Stop() error {
	f.once.Do(func() {
		f.stop(errStop)
		f.ends.Wait()
		close(f.starts)
		f.starter.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stopErr = errors.Join(append(f.errs, f.lock.Close())...)
	})
	return f.stopErr
}

// State returns a copy of the current state.
func (f *Fleet) State() State {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.state
	s.Replicas = slices.Clone(s.Replicas)
	return s
}

// URLs returns the base URLs of the replicas.
func (f *Fleet) URLs() []string { return f.plan.URLs() }

// write writes the state file without the known secrets.
func (f *Fleet) write() error {
	text, err := f.plan.secrets.JSON(&f.state)
	if err != nil {
		return err
	}
	return f.plan.access.WriteJSON(filepath.Join(f.plan.Dir, StateName), text)
}

// change updates the state of a replica, writes the state file and notifies the caller of Start.
func (f *Fleet) change(i int, text string, set func(*ReplicaState)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	set(&f.state.Replicas[i])
	if err := f.write(); err != nil {
		f.errs = append(f.errs, err)
	}
	if f.notify != nil && text != "" {
		f.notify(fmt.Sprintf("replica %d (%s) %s", i, f.plan.Replicas[i].URL, text))
	}
}

// run starts, watches and stops one replica.
func (f *Fleet) run(ctx context.Context, r Replica) {
	p, since, err := f.start(r)
	if err != nil {
		f.change(r.Index, "", func(s *ReplicaState) { s.Health = Dead })
		f.failed <- fmt.Errorf("replica %d (%s) was not started: %w", r.Index, r.URL, err)
		return
	}
	f.change(r.Index, fmt.Sprintf("is starting as process %d; its log is %s", p.PID, r.Log),
		func(s *ReplicaState) { s.Leader = p.identity })
	probe := newProber(r.URL, f.plan.apiKey)
	began := time.Now()
	err = probe.awaitReady(ctx, f.plan.Served, f.plan.StartupTimeout, p.ended, f.plan.ReportInterval,
		func(last error) { f.stillStarts(r, time.Since(began), since, last) })
	if err == nil && f.plan.torch {
		err = probe.torch(ctx, "start")
	}
	if err == nil {
		// before the replica is reported as ready, so that a test finds the file
		beats, noteErr := createBeats(f.plan.access, f.plan.Dir, r.Index)
		f.complain(noteErr)
		f.isReady(r, p, time.Since(began))
		err = f.watch(ctx, r, p, probe, beats)
		f.complain(beats.close())
	}
	alive := true
	select {
	case <-p.ended:
		alive = false
		now := time.Now() // before its other processes are stopped, so that readers of the state learn of it at once
		f.change(r.Index, "exited by itself", func(s *ReplicaState) { s.Health, s.Died = Dead, &now })
	default:
	}
	var stopErr error
	if f.plan.torch && alive && errors.Is(err, errStop) {
		stopErr = probe.torch(context.Background(), "stop")
	}
	stopErr = errors.Join(stopErr, p.stop(f.plan.StopTimeout))
	if err := awaitFree(r.address); err != nil {
		stopErr = errors.Join(stopErr, fmt.Errorf("%s is still in use: %w", r.address, err))
	}
	f.lookBack(r)
	if stopErr != nil {
		f.complain(fmt.Errorf("replica %d (%s) did not stop cleanly: %w", r.Index, r.URL, stopErr))
	}
	if errors.Is(err, errStop) && alive {
		f.change(r.Index, "is stopped", func(s *ReplicaState) { s.Health, s.Exit = Stopped, p.exitText() })
		return
	}
	what := "is stopped because it does not serve the model"
	if !alive {
		what = "" // reported above
	}
	p.exports() // learns the secrets among them
	lines, logErr := f.tail(r, since)
	f.change(r.Index, what, func(s *ReplicaState) { s.Health, s.Exit, s.LogTail = Dead, p.exitText(), lines })
	f.failed <- errors.Join(f.explain(r, p, err, alive, lines), logErr)
}

// tail returns the end of a replica's log after a position, without secrets.
func (f *Fleet) tail(r Replica, since int64) ([]string, error) {
	return tail(r.Log, since, f.plan.secrets.Text)
}

// stillStarts reports that a replica is not ready yet, with the last line of its log after a position.
func (f *Fleet) stillStarts(r Replica, took time.Duration, since int64, last error) {
	lines, err := f.tail(r, since)
	f.complain(err)
	logged := "its log is empty"
	if len(lines) > 0 {
		logged = "the last line of its log: " + lines[len(lines)-1]
	}
	f.change(r.Index, fmt.Sprintf("has been starting for %v (limit %v): %v; %s", took.Round(time.Second),
		f.plan.StartupTimeout, last, logged), func(*ReplicaState) {})
}

// lookBack records which of the processes that debug_mode recorded are still alive after a replica was stopped.
func (f *Fleet) lookBack(r Replica) {
	if !f.plan.Debug {
		return
	}
	noted := f.State().Replicas[r.Index].Processes
	left := &Leftover{
		Checked: len(noted), Listening: portFree(r.address) != nil,
		Alive: slices.DeleteFunc(slices.Clone(noted), func(m Process) bool { return !m.alive() }),
	}
	f.change(r.Index, fmt.Sprintf("left %d of its %d processes running", len(left.Alive), left.Checked),
		func(s *ReplicaState) { s.AfterStop = left })
	if len(left.Alive) > 0 || left.Listening {
		f.complain(fmt.Errorf("replica %d (%s) left processes running after its stop: %v (port still in use: %t); end them "+
			"by the process numbers in %s", r.Index, r.URL, left.Alive, left.Listening,
			filepath.Join(f.plan.Dir, StateName)))
	}
}

func (f *Fleet) start(r Replica) (p *process, since int64, err error) {
	if err := r.prepare(f.plan.access); err != nil {
		return nil, 0, err
	}
	if err := os.MkdirAll(filepath.Dir(r.Log), f.plan.access.Folder()); err != nil {
		return nil, 0, fmt.Errorf("create the folder of its log: %w", err)
	}
	log, err := f.plan.access.Append(r.Log)
	if err != nil {
		return nil, 0, fmt.Errorf("open its log: %w", err)
	}
	defer log.Close() // the child has its own descriptor
	if s, err := log.Stat(); err == nil {
		since = s.Size()
	}
	environ := append(slices.Clone(f.plan.environ), pairs(r.Env, func(string) bool { return true })...)
	done := make(chan struct{})
	f.starts <- func() {
		p, err = startProcess(r.Command, environ, f.plan.PreStart, cookie(f.state.ID, r.Index), log, f.learn)
		close(done)
	}
	<-done
	return p, since, err
}

// learn adds the secrets among the variables that a replica's pre_start commands set.
func (f *Fleet) learn(made map[string]string) { f.plan.secrets.learn(made, f.plan.public()...) }

func (f *Fleet) isReady(r Replica, p *process, took time.Duration) {
	var noted []Process
	members, err := p.members()
	for _, m := range members {
		if f.plan.Debug {
			noted = append(noted, Process{identity: m.identity, Parent: m.parent, Group: m.group, Name: m.name})
		}
	}
	exported := f.plan.secrets.variables(p.exports())
	f.change(r.Index, fmt.Sprintf("is ready after %v", took.Round(time.Millisecond)), func(s *ReplicaState) {
		s.Health, s.Processes, s.ReadyAfter, s.Exported = Ready, noted, took, exported
		if err != nil {
			f.errs = append(f.errs, err)
		}
	})
	f.ready <- struct{}{}
}

// watch probes a server and records each answer until the server exits or ctx is done. A server that does not answer is
// marked as unhealthy until it answers again.
func (f *Fleet) watch(ctx context.Context, r Replica, p *process, probe *prober, beats *beatsFile) error {
	tick := time.NewTicker(f.plan.HeartbeatInterval)
	defer tick.Stop()
	answered, marked := time.Now(), false
	for {
		select {
		case <-p.ended:
			return errEnded
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		began := time.Now()
		err := probe.beats(ctx, f.plan.HeartbeatTimeout)
		if ctx.Err() != nil {
			continue
		}
		ended := time.Now()
		f.complain(beats.note(began, ended, err))
		switch {
		case err == nil:
			answered = ended
			if marked {
				marked = false
				f.change(r.Index, "answers again", func(s *ReplicaState) { s.endGap(answered) })
			}
		case !marked && time.Since(answered) >= f.plan.HeartbeatTimeout:
			marked = true
			f.change(r.Index, fmt.Sprintf("has not answered for %v: %v", time.Since(answered).Round(time.Millisecond), err),
				func(s *ReplicaState) {
					s.beginGap(answered, err)
				})
		}
	}
}

// complain keeps a non-nil error for Stop to return.
func (f *Fleet) complain(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
}

// explain returns the error of a failed replica, with the end of its log.
func (f *Fleet) explain(r Replica, p *process, err error, alive bool, lines []string) error {
	what := fmt.Errorf("did not serve %s: %w", cmp.Or(f.plan.Served, "a model"), err)
	if !alive {
		what = fmt.Errorf("exited (%s)", p.exitText())
		if len(f.plan.PreStart) > 0 {
			what = fmt.Errorf("or its pre_start commands exited (%s)", p.exitText())
		}
		if p.cmd.ProcessState != nil && p.cmd.ProcessState.Success() {
			what = fmt.Errorf("%w: a server must stay in the foreground; its remaining processes were ended", what)
		}
	}
	logged := "its log " + r.Log + " is empty"
	if len(lines) > 0 {
		logged = "the end of its log " + r.Log + ":\n" + strings.Join(lines, "\n")
	}
	return fmt.Errorf("replica %d (%s) %w; %s", r.Index, r.URL, what, logged)
}

// Finish stops the servers after a test, and first logs what happened to them during the test. The error is Stop's.
func (f *Fleet) Finish(log *zap.Logger) error {
	for _, r := range f.State().Replicas {
		if r.Unhealthy > 0 {
			log.Warn(fmt.Sprintf("replica %d (%s) stopped answering %s during the test", r.Index, r.URL,
				plural.Count(r.Unhealthy, "time", "times")),
				zap.Int("replica", r.Index), zap.String("endpoint", r.URL))
		}
	}
	for err := f.Err(); err != nil; err = f.Err() {
		log.Error("during the test " + err.Error())
	}
	return f.Stop()
}
