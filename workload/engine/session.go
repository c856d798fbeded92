package engine

import (
	"fmt"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf-go/workload/lengths"
	"github.com/mlperf-go/mlperf-go/workload/profile"
	"github.com/mlperf-go/mlperf-go/workload/prompts"
)

// session is a graph of calls in progress.
type session struct {
	number  int // of the source
	id      int // in the event log, from 1
	user    int
	calls   []prompts.Call
	follow  [][]int    // by call: those that wait for it
	missing []int      // by call: how many calls it still waits for
	ready   []int64    // by call: when the last of them ended, wall ns
	history []*History // by call that has ended
	flying  int
	failed  bool
	cut     bool // a call of it would come after the stage's end
}

func newSession(number, id, user int, calls []prompts.Call) *session {
	n := len(calls)
	s := &session{number: number, id: id, user: user, calls: calls, follow: make([][]int, n), missing: make([]int, n),
		ready: make([]int64, n), history: make([]*History, n)}
	for i, c := range calls {
		s.missing[i] = len(c.After)
		for _, before := range c.After {
			s.follow[before] = append(s.follow[before], i)
		}
	}
	return s
}

// before returns the history that a request continues; nil: none.
func (s *session) before(r *prompts.Request) *History {
	if r.Continues == 0 {
		return nil
	}
	return s.history[r.Continues-1]
}

// sessions runs whole sessions, a number of them at a time: users who each begin another when theirs has ended, or a
// list of recorded ones. All calls of a session belong to one part of a workload: that of its user, or for a list, that
// of its place in it.
type sessions struct {
	*director
	think  *profile.Distribution
	first  int     // session of the source
	starts []int64 // of all users, after the stage's start
	rounds []int   // by user: sessions so far; nil: a list, from which each user gets the next
	begun  int     // by this part
	most   int     // sessions of all parts
	issued int     // by this part
	limit  int     // requests of this part
	fed    bool
	wait   int // sessions that have not ended
}

// feed begins a session for each user, before the stage starts.
func (k *sessions) feed() (bool, error) {
	for user := k.Part.Index; !k.fed && user < len(k.starts); user += k.Part.step() {
		if err := k.another(user, k.starts[user]); err != nil {
			return false, err
		}
	}
	k.fed = true
	return k.wait == 0, nil
}

func (k *sessions) begin()       {}
func (k *sessions) awaits() bool { return true }

// another begins the next session of a user at a time after the stage's start.
func (k *sessions) another(user int, after int64) error {
	place := k.Part.Index + k.begun*k.Part.step() // in the list
	if k.stopped() || k.rounds == nil && place >= k.most || k.issued >= k.limit {
		return nil
	}
	if rate := k.profile.Rate; rate > 0 { // of sessions
		after = max(after, int64(float64(place)/rate*1e9))
	}
	if long := k.profile.Duration; long > 0 && after >= int64(long) {
		return nil
	}
	s, err := k.newSession(user)
	if err != nil {
		return err
	}
	k.wait++
	for i, c := range s.calls {
		if s.missing[i] == 0 {
			if err := k.issue(s, i, after+int64(c.Delay)); err != nil {
				return err
			}
		}
	}
	if s.flying == 0 {
		k.wait--
	}
	return nil
}

func (k *sessions) newSession(user int) (*session, error) {
	number := k.first + k.Part.Index + k.begun*k.Part.step()
	if k.rounds != nil { // the answers of other users do not change which sessions a user has
		number = k.first + user + k.rounds[user]*len(k.rounds)
		k.rounds[user]++
	}
	calls, err := k.Source.Calls(number)
	if err != nil {
		return nil, err
	}
	s := newSession(number, 1+k.Part.Index+k.sessionIDs*k.Part.step(), user, calls)
	k.sessionIDs++
	k.begun++
	return s, nil
}

// issue queues a call for a time after the stage's start.
func (k *sessions) issue(s *session, call int, after int64) error {
	long := k.profile.Duration
	if k.issued >= k.limit || k.profile.Arrival == profile.Closed && long > 0 && after >= int64(long) {
		s.failed, s.cut = true, true // it ends here
		return nil
	}
	slot, err := k.call(s, call)
	if err == nil {
		k.schedule(slot, after)
	}
	return err
}

// call prepares the request of a call.
func (k *sessions) call(s *session, call int) (*slot, error) {
	if err := k.Source.Request(s.number, call, &k.req); err != nil {
		return nil, err
	}
	slot, err := k.prepare(s.number, call, s.id, s.before(&k.req))
	if err != nil {
		return nil, err
	}
	if k.Part.Of > 1 {
		slot.rec.Seq = k.firstSeq + k.Part.Index + k.issued*k.Part.Of
	}
	slot.session, slot.keeps = s, len(s.follow[call]) > 0
	slot.rec.Session, slot.rec.Turn = s.id, call
	if name := k.Profile.API.SessionHeader; name != "" {
		slot.head = fmt.Appendf(slot.head, "%s: %s-%d\r\n", name, k.Name, s.id)
	}
	s.flying++
	k.issued++
	return slot, nil
}

// after keeps the answer, and issues the calls that waited only for it.
func (k *sessions) after(slot *slot) error {
	s, end := slot.session, slot.rec.EndNS
	if err := k.settle(slot); err != nil {
		return err
	}
	pause := int64(0)
	if k.think != nil {
		pause = int64(lengths.Draw(k.think, rand.New(rand.NewPCG(k.Profile.Seed+uint64(slot.call),
			thinkStream^uint64(s.number)))) * 1e9)
	}
	for _, next := range k.released(s, slot.call, end) {
		if err := k.issue(s, next, s.ready[next]-k.base+int64(s.calls[next].Delay)+pause); err != nil {
			return err
		}
	}
	if s.flying > 0 {
		return nil
	}
	if k.wait--; s.cut { // its user waits until the stage's end
		return nil
	}
	return k.another(s.user, end-k.base+pause)
}

// settle keeps what later calls need of an answer.
func (k *sessions) settle(slot *slot) error {
	s := slot.session
	s.flying--
	if slot.rec.Reason != "" || slot.rec.Cancelled {
		s.failed = true
	}
	if !slot.keeps || s.failed {
		return nil
	}
	if err := k.Source.Request(s.number, slot.call, &k.req); err != nil {
		return err
	}
	s.history[slot.call] = s.before(&k.req).after(&k.req, k.Encoder.IsChat(), slot.ids, string(slot.text))
	return nil
}

// released returns the calls that need not wait any longer. A session with a failed call does not continue.
func (k *sessions) released(s *session, call int, end int64) (list []int) {
	if s.failed || k.stopped() {
		return nil
	}
	for _, next := range s.follow[call] {
		s.missing[next]--
		s.ready[next] = max(s.ready[next], end)
		if s.missing[next] == 0 {
			list = append(list, next)
		}
	}
	return list
}

// turns sends requests at due times, each as the next turn of one of several conversations. All turns of a conversation
// belong to one part of a workload.
type turns struct {
	sessions
	due   []int64 // after the stage's start
	at    int
	chats []*chat
	left  int // due and not issued
}

// chat is one of the conversations: its session, the call that may be sent, and the due times that wait for one.
type chat struct {
	*session
	index   int
	call    int   // -1: the answer before it has not come
	free    int64 // when the session before it ended, wall ns
	waiting []int // numbers of due times
}

// aheadTime is how long before its due time a turn is given to its conversation.
const aheadTime = int64(1e9)

func (k *turns) feed() (bool, error) {
	for len(k.chats) < k.Source.Conversations() {
		k.chats = append(k.chats, &chat{index: len(k.chats)})
	}
	now := int64(0)
	if k.base > 0 {
		now = k.now() - k.base
	}
	for ; k.at < len(k.due) && k.due[k.at] <= now+aheadTime; k.at++ {
		number := k.at % len(k.chats)
		if number%k.Part.step() != k.Part.Index {
			continue
		}
		c := k.chats[number]
		c.waiting = append(c.waiting, k.at)
		k.left++
		if err := k.step(c); err != nil {
			return false, err
		}
	}
	return k.at == len(k.due) && k.left == 0, nil
}

// step issues the next turn of a conversation, if one is due and its predecessor has been answered.
func (k *turns) step(c *chat) (err error) {
	if len(c.waiting) == 0 || k.stopped() {
		return nil
	}
	if c.session == nil {
		if c.session, err = k.newSession(c.index); err != nil {
			return err
		}
		c.call = 0
	}
	if c.call < 0 {
		return nil
	}
	slot, err := k.call(c.session, c.call)
	if err != nil {
		return err
	}
	slot.notBefore = max(c.free, c.ready[c.call])
	if !k.Profile.Data.Rotate { // else the pause after the last answer is part of free
		slot.notBefore += int64(c.calls[c.call].Delay)
	}
	if k.Part.Of > 1 {
		slot.rec.Seq = k.firstSeq + c.waiting[0]
	}
	k.schedule(slot, k.due[c.waiting[0]])
	c.call, c.waiting = -1, c.waiting[1:]
	k.left--
	return nil
}

func (k *turns) after(slot *slot) error {
	s := slot.session
	c := k.chats[s.user]
	if err := k.settle(slot); err != nil {
		return err
	}
	c.free = slot.rec.EndNS
	if k.Profile.Data.Rotate {
		c.free += int64(s.calls[slot.call].Delay)
	}
	if next := k.released(s, slot.call, slot.rec.EndNS); len(next) > 0 {
		c.call = next[0]
	} else {
		c.session = nil
	}
	return k.step(c)
}
