package balance

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// An excluded endpoint is tried after 0.1 s, then at doubling intervals of up to 2 s. If it comes and goes, the first
// interval grows each time, until it has answered. The test uses its own time.
func TestTriesBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var tried []time.Duration // since the endpoint was left out
		from, up := time.Now(), false
		b := New(Options{Endpoints: 2, Health: Health{Patience: time.Hour, Try: func(context.Context, int) error {
			mu.Lock()
			defer mu.Unlock()
			tried = append(tried, time.Since(from))
			if up {
				return nil
			}
			return errors.New("refused")
		}}})
		defer b.Close()
		leave := func(strikes int) {
			mu.Lock()
			from, tried = time.Now(), nil
			mu.Unlock()
			for range strikes {
				b.Strike(0)
			}
		}
		leave(strikesOut)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		ms := time.Millisecond
		require.Equal(t, []time.Duration{100 * ms, 300 * ms, 700 * ms, 1500 * ms, 3100 * ms, 5100 * ms, 7100 * ms, 9100 * ms},
			tried)
		mu.Lock()
		up = true
		mu.Unlock()
		time.Sleep(lastTry)
		synctest.Wait()
		require.True(t, b.Heard(), "it is back")

		for _, first := range []time.Duration{200 * ms, 400 * ms, 800 * ms, 1600 * ms, lastTry, lastTry} {
			leave(1) // its next attempt decides
			time.Sleep(lastTry)
			synctest.Wait()
			require.Equal(t, []time.Duration{first}, tried)
			require.True(t, b.Heard())
		}
		b.Well(0)
		leave(strikesOut)
		time.Sleep(lastTry)
		synctest.Wait()
		require.Equal(t, []time.Duration{100 * ms}, tried, "an answer forgives what was before it")
	})
}
