package plan

import (
	"cmp"
	"fmt"

	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// checkBounds rejects pairs of bounds that no test can meet. Before Bind it tests what the user and the benchmark set;
// Bind repeats it with the defaults.
func (p *Plan) checkBounds() error {
	if p.Scenario == nil {
		return nil // an earlier step failed
	}
	sampling := p.Row.Sampling[p.Mode]
	least := cmp.Or(p.Config.Int("min-tokens"), sampling.MinTokens)
	if p.Config.IsSet("min-tokens") {
		least = p.Config.Int("min-tokens")
	}
	most := cmp.Or(p.Config.Int("max-tokens"), sampling.MaxTokens)
	if most > 0 && least > most {
		return exit.Usage(exit.CodeSetting, "Lower --min-tokens, or raise --max-tokens",
			"min-tokens %d is above max-tokens %d: a server rejects such a request", least, most)
	}
	shortest, longest := p.Config.Duration("min-duration"), p.Config.Duration("max-duration")
	if p.Mode == models.Performance && p.Scenario.LoadGen != models.Offline && longest > 0 && shortest > longest {
		return exit.Usage(exit.CodeSetting, "Lower --min-duration, or leave --max-duration out",
			"max-duration %v is below min-duration %v: LoadGen would end every such test as INVALID", longest, shortest)
	}
	return nil
}

// UnusedLimits returns notices about limits of the user's that LoadGen does not apply in the scenario.
func (p *Plan) UnusedLimits() (notices []string) {
	for _, name := range []string{"ttft-limit", "tpot-limit"} {
		if p.Scenario.LoadGen != models.Server && p.isUsers(name) {
			notices = append(notices, fmt.Sprintf("--%s does nothing in %s: LoadGen limits the times of tokens in Server and "+
				"Interactive only", name, p.Scenario.Scenario))
		}
	}
	return notices
}
