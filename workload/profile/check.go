package profile

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// errorf returns an error about a key, such as "load.stages.0.rate".
type errorf func(key, format string, args ...any) error

// Validate checks what the types of the keys cannot express: which keys an arrival or a kind of data needs, and
// whether limits are consistent. Its error names the key.
func (p *Profile) Validate() error {
	return p.check(func(key, format string, args ...any) error {
		return fmt.Errorf("profile %s: %s: %w", cmp.Or(p.Name, "without a name"), key, fmt.Errorf(format, args...))
	})
}

func (p *Profile) check(wrong errorf) error {
	if p.Data.Kind == None {
		if len(p.Load.Stages) > 0 || p.Load.Sweep != nil {
			return wrong("load", "data of kind none sends nothing, so there are no stages and no sweep; remove them")
		}
		return nil
	}
	for _, check := range []func(errorf) error{p.API.check, p.checkData, p.Load.check, p.checkStreams} {
		if err := check(wrong); err != nil {
			return err
		}
	}
	if err := p.checkKinds(wrong); err != nil {
		return err
	}
	if p.Load.usesTrace() && p.Load.Trace == nil {
		return wrong("load.trace", "a stage has arrival trace; name the file of the arrival times in load.trace")
	}
	sessions := p.Data.Kind == Recorded
	for i, s := range p.Load.Stages {
		if sessions != (s.Arrival == Sessions) {
			return wrong(at("load.stages", i)+".arrival", "data of kind recorded and arrival sessions need each other")
		}
	}
	return nil
}

// checkKinds rejects prompts that an API without tokens cannot carry, and limits on figures that its answers lack.
func (p *Profile) checkKinds(wrong errorf) error {
	if d := &p.Data; len(p.API.Classes) > 0 && (d.Prefix > 0 || len(d.Buckets) > 0 || d.Groups != nil || d.Turns != nil) {
		return wrong("api.classes", "a request has figures by its class or by its prefix; remove the shared prefixes of data")
	}
	if p.Data.Passages != nil && p.API.Kind != "rerank" {
		return wrong("data.passages", "only requests of API rerank have passages, not those of %s", p.API.Kind)
	}
	if p.API.Generates() {
		return nil
	}
	if p.Data.Output != nil {
		return wrong("data.output", "answers of API %s have no tokens; remove it", p.API.Kind)
	}
	if s := p.SLO; s.TTFT > 0 || s.TPOT > 0 || s.ITL > 0 || s.NTPOT > 0 {
		return wrong("slo", "answers of API %s have no tokens, so that only e2e can be limited", p.API.Kind)
	}
	if p.API.Kind == "rerank" && p.Data.Kind != Synthetic {
		return wrong("data.kind", "only data of kind synthetic has the passages of a rerank request, not kind %s",
			p.Data.Kind)
	}
	return nil
}

func (a *API) check(wrong errorf) error {
	total := 0.0
	for _, x := range a.Adapters {
		total += x.Share
	}
	if len(a.Adapters) > 0 && math.Abs(total-1) > 1e-9 {
		return wrong("api.adapters", "the shares add up to %g, not to 1", total)
	}
	total = 0
	for _, x := range a.Classes {
		total += x.Share
	}
	if len(a.Classes) > 0 && math.Abs(total-1) > 1e-9 {
		return wrong("api.classes", "the shares add up to %g, not to 1", total)
	}
	for _, limit := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
		if _, twice := a.Extra[limit]; twice {
			return wrong("api.extra."+limit, "data.output sets the length of answers; remove one of them")
		}
	}
	if _, twice := a.Extra["priority"]; twice && len(a.Classes) > 0 {
		return wrong("api.extra.priority", "api.classes set it too; remove one of them")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		if err := checkHeader(wrong, "api.headers."+name, name, a.Headers[name]); err != nil {
			return err
		}
	}
	if name := a.SessionHeader; name != "" {
		if err := checkHeader(wrong, "api.session_header", name, ""); err != nil {
			return err
		}
	}
	if !a.Generates() && a.Stream {
		return wrong("api.stream", "answers of API %s are never streamed; set it to false", a.Kind)
	}
	return nil
}

// ownHeaders are the HTTP fields that a client sets by itself. No profile contains an API key, because results contain
// the profile.
var ownHeaders = []string{"accept-encoding", "authorization", "connection", "content-encoding", "content-length",
	"content-type", "expect", "host", "te", "traceparent", "trailer", "transfer-encoding", "upgrade", "x-request-id"}

// token lists the characters of a field's name besides letters and digits (RFC 9110, section 5.6.2).
const token = "!#$%&'*+-.^_`|~"

func checkHeader(wrong errorf, key, name, value string) error {
	bad := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune(token, r)
	}
	switch {
	case name == "" || strings.ContainsFunc(name, bad):
		return wrong(key, "%q is not the name of an HTTP field", name)
	case strings.EqualFold(name, "authorization"):
		return wrong(key, "a profile is copied into results; pass the key with --api-key instead")
	case slices.Contains(ownHeaders, strings.ToLower(name)):
		return wrong(key, "the client sets this field by itself; remove it")
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }):
		return wrong(key, "the value contains a line break or a character outside of ASCII")
	}
	return nil
}

// Keys of a stage by which arrivals lists needs.
const (
	rateKey   = "rate"
	lengthKey = "duration or requests"
	timeKey   = "duration"
	countKey  = "requests"
	usersKey  = "concurrency"
	shapeKey  = "burstiness"
	thinkKey  = "think_time"
	rampKey   = "ramp"
)

// arrivals lists the required and the optional keys of each arrival; other keys are errors.
var arrivals = map[Arrival]struct{ needs, may []string }{
	Constant:       {[]string{rateKey, lengthKey}, []string{rampKey, usersKey}},
	Poisson:        {[]string{rateKey, lengthKey}, []string{rampKey, usersKey}},
	Gamma:          {[]string{rateKey, lengthKey, shapeKey}, []string{rampKey, usersKey}},
	Scattered:      {[]string{rateKey, timeKey}, []string{usersKey}},
	PoissonSeconds: {[]string{rateKey, timeKey}, []string{usersKey}},
	Burst:          {[]string{countKey}, []string{usersKey, rampKey}},
	Closed:         {[]string{usersKey, lengthKey}, []string{thinkKey, rampKey}},
	Trace:          {nil, []string{timeKey, countKey, usersKey}},
	Sessions:       {[]string{usersKey}, []string{rateKey, countKey, timeKey}},
}

// has reports which keys of a stage are set.
func (s *Stage) has(key string) bool {
	return map[string]bool{
		rateKey: s.Rate > 0, timeKey: s.Duration > 0, countKey: s.Requests > 0,
		lengthKey: s.Duration > 0 || s.Requests > 0, usersKey: s.Concurrency > 0, shapeKey: s.Burstiness > 0,
		thinkKey: s.ThinkTime != nil, rampKey: s.Ramp != nil,
	}[key]
}

func (s *Stage) check(wrong errorf, key string) error {
	rules := arrivals[s.Arrival]
	for _, need := range rules.needs {
		if !s.has(need) {
			return wrong(key, "arrival %s needs %s", s.Arrival, need)
		}
	}
	allowed := strings.Join(append(slices.Clone(rules.needs), rules.may...), " ")
	for _, k := range []string{rateKey, timeKey, countKey, usersKey, shapeKey, thinkKey, rampKey} {
		if s.has(k) && !strings.Contains(" "+allowed+" ", " "+k+" ") {
			return wrong(key+"."+k, "arrival %s has no use for %s; remove it", s.Arrival, k)
		}
	}
	if s.Ramp != nil && s.Arrival == Burst && (s.Concurrency == 0 || s.Ramp.Over == 0) {
		return wrong(key+".ramp", "the ramp of a burst needs concurrency and over")
	}
	if s.Ramp != nil && s.Ramp.Shape == "exponential" && s.Ramp.From <= 0 {
		return wrong(key+".ramp.from", "an exponential ramp needs a start above 0")
	}
	if s.ThinkTime != nil {
		return s.ThinkTime.check(wrong, key+".think_time")
	}
	return nil
}

func (l *Load) check(wrong errorf) error {
	if (l.Sweep == nil) == (len(l.Stages) == 0) {
		return wrong("load", "give either stages or a sweep")
	}
	for i := range l.Stages {
		if err := l.Stages[i].check(wrong, at("load.stages", i)); err != nil {
			return err
		}
	}
	if err := l.checkMeasured(wrong); err != nil {
		return err
	}
	if err := l.checkClients(wrong); err != nil {
		return err
	}
	for i, b := range l.Breakers {
		if (b.Consecutive > 0) == (b.Rate > 0) || b.Rate > 0 && b.Window <= 0 {
			return wrong(at("load.breakers", i), "give either consecutive, or rate and window")
		}
	}
	if s := l.Saturation; s != nil && s.Confidence == 1 {
		return wrong("load.over_saturation.confidence", "it must be below 1")
	}
	return nil
}

// checkMeasured rejects loads of which nothing can remain to be measured.
func (l *Load) checkMeasured(wrong errorf) error {
	if l.Warmup.Share+l.Cooldown.Share >= 1 {
		return wrong("load.warmup.share", "warm-up and cool-down are the whole stage, so that nothing is measured; "+
			"their shares must be less than 1 together")
	}
	if l.Sweep == nil && !slices.ContainsFunc(l.Stages, func(s Stage) bool { return !s.Warmup }) {
		return wrong("load.stages", "all stages are warm-up, so that nothing is measured; remove warmup from one")
	}
	for i, s := range l.Stages {
		long := s.Duration > 0 && l.Warmup.Duration >= s.Duration
		many := s.Requests > 0 && l.Warmup.Requests >= s.Requests
		if !s.Warmup && (long || many) && l.Warmup.limits() == 1 {
			return wrong("load.warmup", "it is as long as stage %d, so that nothing is measured; shorten it", i)
		}
	}
	return nil
}

// limits returns the number of limits, of which the first that is reached counts.
func (w *Window) limits() (n int) {
	for _, is := range []bool{w.Requests > 0, w.Duration > 0, w.Share > 0} {
		if is {
			n++
		}
	}
	return n
}

// checkClients checks the clients that leave or read slowly.
func (l *Load) checkClients(wrong errorf) error {
	if x := l.Leave; x != nil {
		if x.Tokens == nil && x.After == nil {
			return wrong("load.leave", "no time at which clients leave: give tokens, after, or both")
		}
		for _, d := range []named{{"load.leave.tokens", x.Tokens}, {"load.leave.after", x.After}} {
			if err := d.checkPositive(wrong); err != nil {
				return err
			}
		}
	}
	if x := l.Slow; x != nil {
		if (x.Rate == nil) == (x.Pause == nil) {
			return wrong("load.slow", "give either tokens_per_s or pause")
		}
		for _, d := range []named{{"load.slow.tokens_per_s", x.Rate}, {"load.slow.pause", x.Pause}} {
			if err := d.checkPositive(wrong); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPositive checks a distribution whose every value must be above 0; nil is valid.
func (n named) checkPositive(wrong errorf) error {
	if n.of == nil {
		return nil
	}
	if n.of.Min <= 0 {
		return wrong(n.key, "a smallest value (min) above 0 is needed")
	}
	return n.of.check(wrong, n.key)
}

// checkStreams rejects clients that leave or read by tokens if answers do not come token by token.
func (p *Profile) checkStreams(wrong errorf) error {
	if p.API.Stream {
		return nil
	}
	if x := p.Load.Leave; x != nil && x.Tokens != nil {
		return wrong("load.leave.tokens", "answers come as a whole; set api.stream, or give after alone")
	}
	if p.Load.Slow != nil {
		return wrong("load.slow", "answers come as a whole; set api.stream")
	}
	if p.Load.Saturation != nil {
		return wrong("load.over_saturation", "answers come as a whole, without a first token; set api.stream")
	}
	return nil
}

func (l *Load) usesTrace() bool {
	return slices.ContainsFunc(l.Stages, func(s Stage) bool { return s.Arrival == Trace })
}

// dataNeeds lists the required keys of each kind of data.
var dataNeeds = map[DataKind][]string{
	Fixed: {"text"}, Random: {"input", "output"}, Synthetic: {"input", "output"},
	SharedPrefix: {"groups", "output"}, Conversations: {"turns", "input", "output"},
	ShareGPT: {"path"}, Prompts: {"path"}, Recorded: {"path", "sessions"}, TraceLengths: {"trace"},
}

func (p *Profile) checkData(wrong errorf) error {
	if p.Data.Kind == Random && p.API.IsChat() {
		return wrong("data.kind", "data of kind %s are token ids, and api.kind %s sends texts; use kind %s, or api.kind "+
			"completions", Random, p.API.Kind, Synthetic)
	}
	return p.Data.check(wrong, p.API.Generates())
}

func (d *Data) check(wrong errorf, generates bool) error {
	has := map[string]bool{
		"text": d.Text != "", "input": d.Input != nil, "output": d.Output != nil, "groups": d.Groups != nil,
		"turns": d.Turns != nil, "path": d.Path != "", "sessions": d.Sessions != nil, "trace": d.Trace != nil,
	}
	for _, need := range dataNeeds[d.Kind] {
		if !has[need] && (generates || need != "output") {
			return wrong("data."+need, "data of kind %s needs %s", d.Kind, need)
		}
	}
	for _, only := range []struct {
		key  string
		kind DataKind
	}{{"groups", SharedPrefix}, {"turns", Conversations},
		{"sessions", Recorded}, {"text", Fixed}, {"trace", TraceLengths}} {
		if has[only.key] && d.Kind != only.kind {
			return wrong("data."+only.key, "only data of kind %s has %s; remove it", only.kind, only.key)
		}
	}
	if d.Format == "visionarena" {
		return wrong("data.format", "recorded images cannot be sent; remove it, and make images with data.images")
	}
	if d.MaxTotal > 0 && d.Kind != ShareGPT {
		return wrong("data.max_total", "only data of kind %s has it; remove it", ShareGPT)
	}
	if d.Category != "" && d.Kind != Prompts {
		return wrong("data.category", "only data of kind %s has categories; remove it", Prompts)
	}
	if d.Rotate && d.Turns == nil && (d.Groups == nil || !d.Groups.MultiTurn) {
		return wrong("data.rotate", "only conversations have turns: data.turns, or data.groups with multi_turn; remove it")
	}
	for _, x := range d.distributions() {
		if err := x.of.check(wrong, x.key); err != nil {
			return err
		}
	}
	return nil
}

type named struct {
	key string
	of  *Distribution
}

// distributions returns every distribution that is set, with its key.
func (d *Data) distributions() []named {
	all := []named{{"data.input", d.Input}, {"data.output", d.Output}}
	if g := d.Groups; g != nil {
		all = append(all, named{"data.groups.system", g.System}, named{"data.groups.question", g.Question})
	}
	if t := d.Turns; t != nil {
		all = append(all, named{"data.turns.count", t.Count}, named{"data.turns.system", t.System},
			named{"data.turns.first_input", t.FirstInput}, named{"data.turns.tool_latency", t.ToolLatency})
	}
	if i := d.Images; i != nil {
		all = append(all, named{"data.images.count", i.Count})
	}
	if p := d.Passages; p != nil {
		all = append(all, named{"data.passages.tokens", p.Tokens})
	}
	return slices.DeleteFunc(all, func(n named) bool { return n.of == nil })
}

func (d *Distribution) check(wrong errorf, key string) error {
	switch {
	case d.Max > 0 && d.Min > d.Max:
		return wrong(key, "min %g is above max %g", d.Min, d.Max)
	case d.Kind == "uniform" && d.Max <= 0:
		return wrong(key, "a uniform distribution needs max")
	case d.Kind != "uniform" && d.Mean <= 0 && d.Max <= 0 && d.StdDev > 0:
		return wrong(key, "the mean is 0")
	case d.Kind == "lognormal" && d.Mean <= 0:
		return wrong(key, "a lognormal distribution needs a mean above 0")
	}
	return nil
}

func at(list string, i int) string { return fmt.Sprintf("%s.%d", list, i) }
