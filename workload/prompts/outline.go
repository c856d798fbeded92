package prompts

import "github.com/mlperf-go/mlperf-go/workload/profile"

// Turn is the planned size of one turn of a conversation in tokens.
type Turn struct {
	Input  int // of the whole prompt: system prompts, history and question
	Output int // limit of the answer; 0: the server's own, and then later turns count this answer as empty
}

// Outline returns at most some of the first turns of a session, as a Source makes them, but without their texts. It
// is nil for data that are not conversations, and for recorded ones.
func Outline(p *profile.Profile) func(session, most int) []Turn {
	d := &p.Data
	switch {
	case d.Kind == profile.Conversations && d.Turns != nil:
		return (&conversations{p: p, x: newPrefixes(p, nil)}).outline
	case d.Kind == profile.SharedPrefix && d.Groups != nil && d.Groups.MultiTurn:
		return newGroups(p, nil).outline
	}
	return nil
}

func (c *conversations) outline(session, most int) []Turn {
	session = c.number(session)
	turns, system := c.turns(session)
	list, context := make([]Turn, min(most, len(turns))), c.opening(session, system)
	for i := range list {
		list[i] = Turn{context + turns[i].input, turns[i].output}
		context = list[i].Input + list[i].Output
	}
	return list
}

func (s *groups) outline(session, most int) []Turn {
	user := s.order[session%len(s.order)]
	list, context := make([]Turn, min(most, mostTurns)), s.sizes[user/s.p.Data.Groups.Users]
	for i := range list {
		question, answer := s.lengths(user, i)
		list[i] = Turn{context + question, answer}
		context = list[i].Input + list[i].Output
	}
	return list
}
