// Package secret removes secrets from everything that the program writes: records, states, logs, messages.
//
//	var secrets secret.Redactor
//	secrets.Add(apiKey)           // by value, wherever it turns up
//	secrets.AddEnviron(environ)   // the values of variables such as HF_TOKEN
//	text = secrets.Text(engineLog)
//	line = secret.Args(os.Args)   // by name: --api-key, --SSL_keyfile_password=...
//
// It finds a secret by its value, once that was added, or by the name in front of it: an argument, a variable, a field
// of JSON or YAML. It compares values without regard to the case of ASCII letters, and names without regard to case and
// to the signs between words.
//
// It imports nothing of the project.
package secret
