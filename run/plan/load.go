package plan

import (
	"os"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/config"
	"github.com/mlperf-go/mlperf-go/rounds"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Load is the load that LoadGen offers: counts, rates and seeds, as its user.conf and its settings have them.
type Load struct {
	*Test
	Limits
	// AuditText is the text of an audit.config that is in no file yet; empty: --audit-config names a file, if any.
	AuditText string

	confRest []config.KV // lines of a user.conf that are not settings of this program
	seeds    *[3]uint64  // that LoadGen is given; nil: LoadGen has the round's
}

// readUserConf moves the values of a user.conf that are settings of this program into the configuration, and keeps the
// other lines.
func (l *Load) readUserConf() error {
	path := l.Config.String("user-conf")
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return exit.Usage(exit.CodeUserConf, "Give a readable file with --user-conf", "the user.conf cannot be read: %w", err)
	}
	defer f.Close()
	conf, err := config.ParseConf(path, f, config.UserConf, l.LoadGenModel())
	if err != nil {
		return exit.Usage(exit.CodeUserConf, "", "%w", err)
	}
	l.confRest, err = l.Config.ApplyUserConf(conf, l.LoadGenModel(), string(l.Scenario.LoadGen), l.gates()...)
	if err != nil {
		return exit.Usage(exit.CodeUserConf, "", "%w", err)
	}
	return nil
}

// readSeeds reads the seeds of a round that was named or is not the linked library's, and reads --seed-override: the
// name of a round, or three numbers.
func (l *Load) readSeeds() error {
	if l.Config.Origin("round").Layer > config.FromRegistry || l.Round.Name != rounds.Current {
		seeds := l.Round.Seeds.InOrder()
		l.seeds = &seeds
	}
	words := l.Config.Strings("seed-override")
	if len(words) == 0 {
		return nil
	}
	if r, err := rounds.Find(words[0]); err == nil && len(words) == 1 {
		seeds := r.Seeds.InOrder()
		l.seeds = &seeds
		return nil
	}
	var seeds [3]uint64
	if len(words) != len(seeds) {
		return exit.Usage(exit.CodeSeedOverride, "Write v6.0, or qsl,sample_index,schedule",
			"--seed-override %s is neither a round nor three numbers",
			strings.Join(words, ","))
	}
	for i, w := range words {
		n, err := strconv.ParseUint(w, 10, 64)
		if err != nil {
			return exit.Usage(exit.CodeSeedOverride, "Write v6.0, or qsl,sample_index,schedule",
				"--seed-override: %q is not an unsigned 64-bit number", w)
		}
		seeds[i] = n
	}
	l.seeds = &seeds
	return nil
}
