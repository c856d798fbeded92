package sim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// wireOf sends one request under a fault and returns all bytes until the connection ends, or until it is silent for a
// while after a complete answer.
func wireOf(t *testing.T, fault, fields string) (all string, v *served, err error) {
	v = serve(t, func(c *Config) { c.Faults = Faults{fault: 1} })
	c, in := v.dial(`{"prompt":[1,2],"max_tokens":50,"return_token_ids":true,` + fields + `}`)
	var b bytes.Buffer
	for deadline := time.Now().Add(time.Minute); ; {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(300*time.Millisecond)))
		_, err := io.CopyN(&b, in, 1)
		if err == nil {
			_, err = io.CopyN(&b, in, int64(in.Buffered()))
		}
		if errors.Is(err, io.EOF) {
			return b.String(), v, nil
		}
		if quiet(err) && !saidAll(fault, b.String()) && time.Now().Before(deadline) {
			continue // the machine is busy
		}
		if err != nil {
			return b.String(), v, err
		}
	}
}

// saidAll reports whether an answer is complete under a fault that leaves the connection open.
func saidAll(fault, all string) bool {
	switch fault {
	case "stall_header":
		return true
	case "stall_first":
		return strings.HasSuffix(all, "\r\n\r\n")
	case "stall_mid":
		_, body, _ := strings.Cut(all, "\r\n\r\n")
		return body != ""
	}
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(all)), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil
}

const streamed = `"stream":true,"stream_options":{"include_usage":true}`

func quiet(err error) bool    { return errors.Is(err, os.ErrDeadlineExceeded) }
func wasReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }

// payloads unchunks an answer's body; framed reports whether the closing chunk came.
func payloads(t *testing.T, all string) (list []string, framed bool) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(all)), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	return events(t, string(body)), err == nil
}

// TestFaultsOnTheWire checks each fault with a raw socket. A connection that stays open sends no more bytes.
func TestFaultsOnTheWire(t *testing.T) {
	status := func(line string) func(*testing.T, string, error) {
		return func(t *testing.T, all string, err error) {
			require.True(t, quiet(err), "%v", err)
			require.True(t, strings.HasPrefix(all, "HTTP/1.1 "+line), all)
		}
	}
	whole := func(check func(t *testing.T, ev []string, ids []int32, finish string)) func(*testing.T, string, error) {
		return func(t *testing.T, all string, err error) {
			require.True(t, quiet(err), "%v", err)
			ev, framed := payloads(t, all)
			require.True(t, framed)
			var ids []int32
			finish := ""
			for _, e := range ev {
				var m message200
				if json.Unmarshal([]byte(e), &m) == nil && len(m.Choices) == 1 {
					ids = append(ids, m.Choices[0].TokenIDs...)
					if f := m.Choices[0].FinishReason; f != nil {
						finish = *f
					}
				}
			}
			check(t, ev, ids, finish)
		}
	}
	middle := func(closed func(error) bool) func(*testing.T, string, error) {
		return func(t *testing.T, all string, err error) {
			require.True(t, closed(err), "%v", err)
			if strings.Contains(all, "data: ") { // a RST may overtake the sent bytes
				ev, framed := payloads(t, all)
				require.False(t, framed)
				require.LessOrEqual(t, len(ev), 4)
				require.NotContains(t, all, `"finish_reason":"`)
			}
		}
	}
	seen := map[string]func(t *testing.T, all string, err error){
		"http_500": status("500 "), "http_503": status("503 "), "http_400": status("400 "),
		"http_401": status("401 "), "http_404": status("404 "),
		"http_429": func(t *testing.T, all string, err error) {
			status("429 ")(t, all, err)
			require.Contains(t, all, "retry-after: 1\r\n")
		},
		"html": func(t *testing.T, all string, err error) {
			status("200 ")(t, all, err)
			require.Contains(t, all, "content-type: text/html")
			require.Contains(t, all, "</html>")
		},
		"redirect": func(t *testing.T, all string, err error) {
			status("302 ")(t, all, err)
			require.Contains(t, all, "location: /elsewhere\r\n")
		},
		"reset_before": func(t *testing.T, all string, err error) {
			require.True(t, wasReset(err), "%v", err)
			require.Empty(t, all)
		},
		"reset_mid": middle(wasReset),
		"cut_mid":   middle(func(err error) bool { return err == nil }),
		"stall_mid": middle(quiet),
		"stall_header": func(t *testing.T, all string, err error) {
			require.True(t, quiet(err), "%v", err)
			require.Empty(t, all)
		},
		"stall_first": func(t *testing.T, all string, err error) {
			status("200 ")(t, all, err)
			require.True(t, strings.HasSuffix(all, "\r\n\r\n"))
			require.NotContains(t, all, "data")
		},
		"no_end": whole(func(t *testing.T, ev []string, ids []int32, finish string) {
			require.Len(t, ids, 4)
			require.Empty(t, finish)
			require.Len(t, ev, 4)
		}),
		"no_done": whole(func(t *testing.T, ev []string, ids []int32, finish string) {
			require.Len(t, ids, 8)
			require.Equal(t, "stop", finish)
			require.NotContains(t, ev, "[DONE]")
		}),
		"error_event": whole(func(t *testing.T, ev []string, ids []int32, finish string) {
			require.Len(t, ids, 4)
			require.Equal(t, 500, decode(t, ev[4]).Error.Code)
			require.Equal(t, "[DONE]", ev[5])
		}),
		"empty": whole(func(t *testing.T, ev []string, ids []int32, finish string) {
			require.Empty(t, ids)
			require.Equal(t, "stop", finish)
			require.Contains(t, ev[0], `"token_ids":[]`)
			require.Equal(t, &usage{2, 2, 0}, decode(t, ev[1]).Usage)
		}),
		"only_usage": whole(func(t *testing.T, ev []string, _ []int32, _ string) {
			require.Len(t, ev, 2)
			require.Equal(t, &usage{2, 10, 8}, decode(t, ev[0]).Usage)
		}),
		"bad_json": whole(func(t *testing.T, ev []string, ids []int32, _ string) {
			require.Len(t, ids, 7, "one event of eight cannot be read")
		}),
		"bad_utf8": whole(func(t *testing.T, ev []string, _ []int32, _ string) {
			require.False(t, utf8.ValidString(strings.Join(ev, "")))
		}),
		"huge_line": whole(func(t *testing.T, ev []string, ids []int32, _ string) {
			require.Len(t, ids, 8)
			require.Greater(t, len(ev[4]), 8<<20-8)
		}),
		"no_ids": whole(func(t *testing.T, ev []string, ids []int32, _ string) {
			require.Empty(t, ids)
			require.Contains(t, ev[0], `"prompt_token_ids":null,"token_ids":null`)
			require.Equal(t, 8, decode(t, ev[8]).Usage.Completion)
		}),
		"no_usage": whole(func(t *testing.T, ev []string, ids []int32, _ string) {
			require.Len(t, ids, 8)
			require.NotContains(t, strings.Join(ev, ""), "usage")
		}),
		"wrong_count": whole(func(t *testing.T, ev []string, ids []int32, _ string) {
			require.Len(t, ids, 8)
			require.Equal(t, 11, decode(t, ev[8]).Usage.Completion)
		}),
		"abort": whole(func(t *testing.T, ev []string, ids []int32, finish string) {
			require.Len(t, ids, 4)
			require.Equal(t, "abort", finish)
			require.Equal(t, "[DONE]", ev[5])
		}),
		"out_of_vocab": whole(func(t *testing.T, _ []string, ids []int32, _ string) {
			require.Contains(t, ids, int32(128263))
		}),
		"slow_first": whole(func(t *testing.T, _ []string, ids []int32, _ string) { require.Len(t, ids, 8) }),
		"die":        middle(wasReset),
		"two_ends": whole(func(t *testing.T, ev []string, ids []int32, finish string) {
			require.Len(t, ids, 8)
			require.Equal(t, []int32{128009, 128009}, ids[6:])
			require.NotEqual(t, int32(128009), ids[5])
			require.Equal(t, "stop", finish)
			require.Equal(t, 8, decode(t, ev[8]).Usage.Completion)
		}),
	}
	for _, f := range FaultNames() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			check, ok := seen[f.Name]
			require.True(t, ok, "a fault without a test")
			all, v, err := wireOf(t, f.Name, streamed)
			check(t, all, err)
			require.Eventually(t, func() bool { return v.Stats().Running == 0 }, time.Minute, time.Millisecond,
				"no fault keeps a slot")
		})
	}
}

func TestFaultsWithoutStream(t *testing.T) {
	cases := map[string]func(t *testing.T, all string, err error){
		"cut_mid":   func(t *testing.T, all string, err error) { require.NoError(t, err); requireHalf(t, all) },
		"stall_mid": func(t *testing.T, all string, err error) { require.True(t, quiet(err)); requireHalf(t, all) },
		"reset_mid": func(t *testing.T, _ string, err error) { require.True(t, wasReset(err), "%v", err) },
		"error_event": func(t *testing.T, all string, _ error) {
			require.True(t, strings.HasPrefix(all, "HTTP/1.1 500 "), all)
		},
		"no_end":     func(t *testing.T, all string, _ error) { require.Contains(t, all, `"finish_reason":null`) },
		"empty":      func(t *testing.T, all string, _ error) { require.Contains(t, all, `"token_ids":[]`) },
		"only_usage": func(t *testing.T, all string, _ error) { require.Contains(t, all, `"choices":[]`) },
		"no_ids":     func(t *testing.T, all string, _ error) { require.Contains(t, all, `"token_ids":null`) },
		"bad_json": func(t *testing.T, all string, _ error) {
			_, body, _ := strings.Cut(all, "\r\n\r\n")
			require.False(t, json.Valid([]byte(body)))
		},
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, _, err := wireOf(t, name, `"stream":false`)
			check(t, all, err)
		})
	}
}

func requireHalf(t *testing.T, all string) {
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(all)), nil)
	require.NoError(t, err)
	_, err = io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestFaultSlowFirst(t *testing.T) {
	v := serve(t, func(c *Config) { c.TTFT, c.Faults = 10*time.Millisecond, Faults{"slow_first": 1} })
	begin := time.Now()
	v.mustPost("/v1/completions", `{"prompt":[1]}`)
	require.GreaterOrEqual(t, time.Since(begin), 100*time.Millisecond)
}

func TestDie(t *testing.T) {
	t.Run("without a callback the server ends", func(t *testing.T) {
		_, v, _ := wireOf(t, "die", streamed)
		require.ErrorIs(t, v.stop(), ErrDied)
		_, err := net.Dial("tcp", v.addr)
		require.Error(t, err)
	})
	t.Run("with one it is called", func(t *testing.T) {
		died := make(chan struct{})
		v := serve(t, func(c *Config) { c.Faults, c.OnDie = Faults{"die": 1}, func() { close(died) } })
		v.dial(`{"prompt":[1]}`)
		<-died
		require.NoError(t, v.stop())
	})
}

// TestFaultShares: the share of requests with a fault is its rate. The same requests are struck every time, and other
// requests with another seed.
func TestFaultShares(t *testing.T) {
	struck := func(seed uint64) (out []uint64) {
		cfg := fastConfig()
		cfg.Seed, cfg.Faults = seed, Faults{"http_500": 0.05, "no_ids": 1}
		s, err := New(cfg)
		require.NoError(t, err)
		for i := range uint64(20000) {
			p := s.draw(i)
			require.True(t, p.hideIDs, "rate 1 is every request")
			if p.instead != nil {
				out = append(out, i)
			}
		}
		return out
	}
	a := struck(1)
	require.InDelta(t, 1000, len(a), 120)
	require.Equal(t, a, struck(1))
	require.NotEqual(t, a, struck(2))
}

func TestParseFaults(t *testing.T) {
	f, err := ParseFaults(" http_500=0.05, no_ids=1")
	require.NoError(t, err)
	require.Equal(t, Faults{"http_500": 0.05, "no_ids": 1}, f)
	f, err = ParseFaults("")
	require.NoError(t, err)
	require.Empty(t, f)
	for in, part := range map[string]string{
		"http_500":               "not NAME=RATE",
		"http_500=often":         "not NAME=RATE",
		"http_500=1.5":           "between 0 and 1",
		"http_500=NaN":           "between 0 and 1",
		"hiccup=0.1":             "unknown fault \"hiccup\"; use http_500",
		"no_ids=0.1,no_ids=0.2":  "occurs twice",
		"no_ids=0.1,,no_end=0.2": "not NAME=RATE",
	} {
		_, err := ParseFaults(in)
		require.ErrorContains(t, err, part, in)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for part, change := range map[string]func(*Config){
		"model name":       func(c *Config) { c.Model = "" },
		"answers":          func(c *Config) { c.Answers = "wise" },
		"ttft":             func(c *Config) { c.TTFT = -1 },
		"tpot":             func(c *Config) { c.TPOT = -1 },
		"prefill-rate":     func(c *Config) { c.PrefillRate = 0.5 },
		"max-num-seqs":     func(c *Config) { c.MaxNumSeqs = 0 },
		"max-model-len":    func(c *Config) { c.MaxModelLen = 0 },
		"KV budget":        func(c *Config) { c.KVTokens = 10 },
		"tokens-per-event": func(c *Config) { c.TokensPerEvent = 0 },
		"output-tokens":    func(c *Config) { c.OutputTokens = 0 },
		"vocabulary":       func(c *Config) { c.Vocabulary = 100 },
		"EOS":              func(c *Config) { c.EOS = 1 << 20 },
		"idle timeout":     func(c *Config) { c.IdleTimeout = 0 },
		"hiccup":           func(c *Config) { c.Faults = Faults{"hiccup": 1} },
	} {
		c := DefaultConfig()
		change(&c)
		_, err := New(c)
		require.ErrorContains(t, err, part)
	}
}

func TestServeTwice(t *testing.T) {
	v := serve(t, nil)
	require.Eventually(t, func() bool { return v.used.Load() }, time.Minute, time.Millisecond)
	require.ErrorContains(t, v.Serve(context.Background(), nil), "called twice")
}
