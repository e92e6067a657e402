package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completeCommand is the hidden command that the scripts of completionCmd run. Its arguments are the words
// of the command line after the program, up to the cursor.
const completeCommand = "__complete"

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh, or fish."`
}

// Help returns the longer help.
func (completionCmd) Help() string {
	return "bash: add `source <(wardroom completion bash)` to ~/.bashrc. zsh: the same with zsh, after compinit, in ~/.zshrc. " +
		"fish: run `wardroom completion fish > ~/.config/fish/completions/wardroom.fish`."
}

// scripts are the scripts for the shells.
var scripts = map[string]string{
	"bash": `_wardroom() {
    local IFS=$'\n'
    COMPREPLY=($(wardroom ` + completeCommand + ` "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _wardroom wardroom
`,
	"zsh": `_wardroom() {
    local -a found
    found=("${(@f)$(wardroom ` + completeCommand + ` "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$found" ]]; then compadd -- $found; else _files; fi
}
compdef _wardroom wardroom
`,
	"fish": `complete -c wardroom -f -a '(wardroom ` + completeCommand +
		` (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

// Run prints the script for a shell.
func (c completionCmd) Run(t terminal) error {
	_, err := io.WriteString(t.out, scripts[c.Shell])
	return err
}

// complete prints the words that can stand at the place of the last word: commands, flags, or values.
func complete(at *kong.Node, words []string, w io.Writer) error {
	if len(words) == 0 {
		words = []string{""}
	}
	typed, before := words[len(words)-1], words[:len(words)-1]
	var value *kong.Flag // the flag whose value comes next
	position := 0
	for _, word := range before {
		switch {
		case value != nil:
			value = nil
		case strings.HasPrefix(word, "--") && !strings.Contains(word, "="):
			value = flagOf(at, strings.TrimPrefix(word, "--"))
		case strings.HasPrefix(word, "-"):
		default:
			if i := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == word }); i >= 0 {
				at = at.Children[i]
			} else {
				position++
			}
		}
	}
	for _, word := range candidates(at, value, typed, position) {
		if strings.HasPrefix(word, typed) {
			if _, err := fmt.Fprintln(w, word); err != nil {
				return err
			}
		}
	}
	return nil
}

// flagOf returns the flag with this name if it takes a value.
func flagOf(at *kong.Node, name string) *kong.Flag {
	for _, group := range at.AllFlags(true) {
		for _, f := range group {
			if f.Name == name && !f.IsBool() {
				return f
			}
		}
	}
	return nil
}

// candidates returns the words that can follow.
func candidates(at *kong.Node, value *kong.Flag, typed string, position int) (all []string) {
	switch {
	case value != nil:
		return enumOf(value.Value)
	case strings.HasPrefix(typed, "-"):
		for _, group := range at.AllFlags(true) {
			for _, f := range group {
				all = append(all, "--"+f.Name)
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	case len(at.Children) > 0:
		for _, n := range at.Children {
			if !n.Hidden {
				all = append(all, n.Name)
			}
		}
	case position < len(at.Positional):
		return enumOf(at.Positional[position])
	}
	return all
}

// enumOf returns the values that a flag or an argument accepts, if they are listed.
func enumOf(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}
