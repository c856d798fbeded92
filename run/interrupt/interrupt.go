package interrupt

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Window is the time after the first signal in which further signals count as the same one. timeout(1) signals a
// process and then its whole group, a terminal all processes of the foreground, and people repeat Ctrl-C until they
// see an effect.
const Window = 2 * time.Second

// Notice is the message to print after the first signal.
const Notice = "stopping, and writing what was measured; another signal after 2 s ends the program at once"

// Context returns a context that ends with the first of the signals, whose cause is an exit.Interrupt. Then first
// is called on a new goroutine, so it may block. Each signal after Window is passed to later, which should end the
// process. The returned function stops the handling of signals.
func Context(first func(), later func(exit.Interrupt), heard ...os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, heard...)
	end := make(chan struct{})
	go func() {
		defer crash.Catch()
		var begun time.Time
		for {
			select {
			case <-end:
				return
			case s := <-signals:
				i := exit.Interrupt{Signal: s.(syscall.Signal)}
				switch {
				case begun.IsZero():
					begun = time.Now()
					cancel(i)
					go told(first)
				case time.Since(begun) >= Window:
					later(i)
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(end)
		cancel(nil)
	}
}

func told(first func()) {
	defer crash.Catch()
	first()
}
