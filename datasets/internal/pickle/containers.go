package pickle

import "slices"

// Opcodes that create and fill containers, and opcodes that in Python would call something.

func listOfMark(m *machine) error {
	values, err := m.popMark()
	if err != nil {
		return err
	}
	l := &List{}
	size := l.add(values)
	return m.push(l, 64+int(size))
}

func dictOfMark(m *machine) error {
	values, err := m.popMark()
	if err != nil {
		return err
	}
	d := &Dict{}
	if err := d.set(values); err != nil {
		return err
	}
	return m.push(d, 64+16*len(values))
}

func (d *Dict) set(pairs []any) error {
	if len(pairs)%2 != 0 {
		return damaged("a key without a value")
	}
	for i := 0; i < len(pairs); i += 2 {
		d.Keys, d.Values = append(d.Keys, pairs[i]), append(d.Values, pairs[i+1])
	}
	return nil
}

func tupleOf(m *machine, values []any, err error) error {
	if err != nil {
		return err
	}
	return m.push(Tuple(slices.Clone(values)), 24+16*len(values))
}

// extend appends values to the list on top of the stack.
func extend(m *machine, values []any, err error) error {
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case *List:
		m.held += v.add(values)
	case *Object:
		if v.List == nil {
			v.List = &List{}
		}
		m.held += v.List.add(values)
	default:
		return damaged("elements appended to " + kindOf(v))
	}
	return nil
}

// setItems sets pairs of key and value in the dict on top of the stack.
func setItems(m *machine, pairs []any, err error) error {
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	m.held += int64(16 * len(pairs))
	switch v := v.(type) {
	case *Dict:
		return v.set(pairs)
	case *Object:
		if v.Dict == nil {
			v.Dict = &Dict{}
		}
		return v.Dict.set(pairs)
	}
	return damaged("entries set in " + kindOf(v))
}

// globalLines reads a module and a name, one per line.
func globalLines(m *machine) error {
	line, err := m.line(maxName)
	if err != nil {
		return err
	}
	module := string(line)
	if line, err = m.line(maxName); err != nil {
		return err
	}
	return m.name(module, string(line))
}

func globalOfStack(m *machine) error {
	v, err := m.popN(2)
	if err != nil {
		return err
	}
	module, isText := v[0].(string)
	name, isName := v[1].(string)
	if !isText || !isName {
		return damaged("a name that is not a string")
	}
	return m.name(module, name)
}

func (m *machine) name(module, name string) error {
	g, err := global(module, name)
	if err != nil {
		return err
	}
	return m.push(g, 0)
}

// call records a call of a global; the arguments must be a tuple.
func (m *machine) call(name, arguments any) error {
	args, ok := arguments.(Tuple)
	if !ok {
		return damaged("a call with " + kindOf(arguments) + " as arguments")
	}
	return m.make(name, args)
}

// reduce implements REDUCE and NEWOBJ: a callable and its arguments.
func reduce(m *machine) error {
	v, err := m.popN(2)
	if err != nil {
		return err
	}
	return m.call(v[0], v[1])
}

// newWithKeywords implements NEWOBJ_EX: a class, its arguments and its keyword arguments. It accepts no keyword
// arguments, since no allowed class needs them.
func newWithKeywords(m *machine) error {
	v, err := m.popN(3)
	if err != nil {
		return err
	}
	return m.call(v[0], v[1])
}

// build sets the state of an object.
func build(m *machine) error {
	state, err := m.pop()
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	o, ok := v.(*Object)
	if !ok {
		return damaged("a state for " + kindOf(v))
	}
	o.State = state
	return nil
}

func outside(*machine) error {
	return refused("a reference to data outside the file (persistent id, extension code or buffer)")
}

func oldInstance(*machine) error {
	return refused("an instance of a Python 2 class")
}
