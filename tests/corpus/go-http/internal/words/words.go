// Package words has the texts of the service.
package words

import (
	"embed"
	"errors"
)

//go:embed texts
var texts embed.FS

// ErrUnknown is returned for a name without a text.
var ErrUnknown = errors.New("unknown word")

// Find returns the text of a name.
func Find(name string) (string, error) {
	text, err := texts.ReadFile("texts/" + name + ".txt")
	if err != nil {
		return "", ErrUnknown
	}
	return string(text), nil
}
