// Package authority makes the certificate of the servers in chaos runs, which is its own authority.
package authority
