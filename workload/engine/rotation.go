package engine

// rotation is a closed stage whose users send the turns of all conversations in turn, as inference-perf does: the
// first turn of each, then the second of each. A user whose conversation is busy waits for it. A conversation and its
// user are busy until the tool time after an answer has passed. All turns of a conversation belong to one part of a
// workload.
type rotation struct {
	sessions
	chats []*rotated
	users heap[int64] // when each user that is not busy sends the next turn, after the stage's start
	at    int         // turns that users began
	held  int         // users that wait for their conversation
	busy  int         // conversations
}

// rotated is a conversation of a rotation.
type rotated struct {
	chat
	busy bool
	held []int64 // since when each of its users waits
}

func newRotation(k sessions) *rotation {
	r := &rotation{sessions: k, users: heap[int64]{before: func(a, b int64) bool { return a < b }}}
	n := k.Source.Conversations()
	r.rounds = make([]int, n)
	for i := k.Part.Index; i < n; i += k.Part.step() {
		r.chats = append(r.chats, &rotated{chat: chat{index: i}})
	}
	for user := k.Part.Index; user < len(k.starts); user += k.Part.step() {
		r.users.push(k.starts[user])
	}
	return r
}

// feed assigns the next turns to the users that are free soon, in the order of their times.
func (k *rotation) feed() (bool, error) {
	now := int64(0)
	if k.base > 0 {
		now = k.now() - k.base
	}
	for k.hasNext() && k.users.first() <= now+aheadTime {
		since := k.users.pop()
		c := k.chats[k.at%len(k.chats)]
		if k.at++; c.busy {
			c.held = append(c.held, since)
			k.held++
			continue
		}
		if err := k.send(c, since); err != nil {
			return false, err
		}
	}
	return k.busy == 0 && !k.hasNext(), nil
}

// hasNext reports whether the next free user sends another turn.
func (k *rotation) hasNext() bool {
	return len(k.chats) > 0 && k.users.len() > 0 && k.issued+k.held < k.limit && !k.isOver(k.users.first())
}

// isOver reports whether a time is behind the end of the stage.
func (k *rotation) isOver(at int64) bool {
	return k.profile.Duration > 0 && at >= int64(k.profile.Duration)
}

// send issues the next turn of a conversation for a user that is free since a time.
func (k *rotation) send(c *rotated, since int64) (err error) {
	at := max(since, c.free)
	if k.isOver(at) {
		return nil
	}
	if c.session == nil {
		if c.session, err = k.newSession(c.index); err != nil {
			return err
		}
		c.call = 0
	}
	slot, err := k.call(c.session, c.call)
	if err == nil {
		k.schedule(slot, at)
		c.busy = true
		k.busy++
	}
	return err
}

// after keeps the answer. The conversation and the user are free when the tool time has passed.
func (k *rotation) after(slot *slot) error {
	s := slot.session
	c := k.chats[(s.user-k.Part.Index)/k.Part.step()]
	if err := k.settle(slot); err != nil {
		return err
	}
	k.busy--
	c.busy, c.free = false, slot.rec.EndNS-k.base+int64(s.calls[slot.call].Delay)
	if next := k.released(s, slot.call, slot.rec.EndNS); len(next) > 0 {
		c.call = next[0]
	} else {
		c.session = nil
	}
	k.users.push(c.free)
	if k.stopped() || len(c.held) == 0 {
		return nil
	}
	since := c.held[0]
	c.held = c.held[1:]
	k.held--
	return k.send(c, since)
}

var _ kind = (*rotation)(nil)
