package stack

// joined lists the families of models whose version follows their name without a hyphen.
var joined = []string{"qwen"}
