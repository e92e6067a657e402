package redact

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// A tool is a program that can get a secret in its arguments.
type tool struct {
	short string   // letters of the options whose value is a secret, in the same argument or the next one: -pX, -p X
	glued string   // the same, but only in the same argument: -pX
	pairs string   // letters of the options whose value is a user and a secret, separated by sep
	sep   string   // default: a colon
	words []string // arguments after which the next one is a secret
	heads []string // beginnings of arguments that continue with a secret, such as pass:
	login bool     // only after the argument login
	// with the option -b, a secret follows the name of a user, and that one the name of a file unless there is -n
	batch bool
	once  bool // only before the first argument that is no option, which is a command of its own
}

// tools are the programs, by name. Long options, such as --password, are the same for all of them.
func tools() map[string]tool {
	all := map[string]tool{
		"sshpass": {short: "p", once: true}, "htpasswd": {batch: true},
		"curl": {pairs: "uU", words: []string{"--oauth2-bearer"}}, "wget": {},
		"redis-cli": {short: "a", words: []string{"auth", "AUTH"}}, "vault": {words: []string{"login"}}, "gpg": {},
		"lftp": {pairs: "u", sep: ","}, "openssl": {words: []string{"-k", "-K"}, heads: []string{"pass:"}},
		"nmcli": {words: []string{"password", "wifi-sec.psk"}}, "kubectl": {heads: []string{"--from-literal="}},
		"useradd": {short: "p"}, "usermod": {short: "p"}, "ldappasswd": {short: "was"}, "clickhouse-client": {},
		"snowsql": {}, "svn": {}, "psql": {}, "gh": {}, "npm": {}, "aws": {},
	}
	for names, t := range map[string]tool{
		"mysql mariadb mysqldump mariadb-dump mysqladmin mariadb-admin mysqlimport mysqlshow mysqlcheck mysqlpump mysqlslap mysqlsh mycli": {glued: "p"},
		"docker podman nerdctl buildah skopeo helm oras crane az oc cf argocd":                                                             {short: "p", login: true},
		"mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat rabbitmqadmin cqlsh beeline rdesktop influx ncftpput":      {short: "p"},
		"7z 7za 7zr rar unrar":                                {glued: "p"},
		"zip unzip sqlcmd bcp osql tsql ipmitool":             {short: "P"},
		"mosquitto_pub mosquitto_sub":                         {short: "P"},
		"snmpget snmpwalk snmpset":                            {short: "AX"},
		"ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami": {short: "w"},
		"smbclient rpcclient smbget":                          {pairs: "U", sep: "%"},
		"http https xh xhs":                                   {pairs: "a"},
		"ab":                                                  {pairs: "AP"},
		"plink pscp psftp putty":                              {words: []string{"-pw"}},
		"keytool jarsigner apksigner": {
			words: []string{"-storepass", "-keypass", "-srcstorepass", "-deststorepass", "-destkeypass"},
			heads: []string{"pass:"},
		},
		"xfreerdp wfreerdp sdl-freerdp": {heads: []string{"/p:"}},
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = t
		}
	}
	return all
}

// argument is an argument of a command, without enclosing quotation marks.
type argument struct {
	text     string
	from, to int // where it is
}

// span is a part of a text, or of an argument, that is a secret.
type span struct{ from, to int }

// secrets returns the parts of arguments that are secrets. The first argument is the program, unless it is unknown.
func (m *Redactor) secrets(args []argument) []span {
	var found []span
	var t tool
	active := false
	add := func(a argument, skip int) {
		if v := a.text[skip:]; given(v) {
			found = append(found, span{a.from + skip, a.to})
		}
	}
	for i, a := range args {
		next := func() {
			if i+1 < len(args) {
				add(args[i+1], 0)
			}
		}
		if now, ok := m.tools[programName(a.text)]; ok {
			t, active = now, !now.login
			continue
		}
		switch name, value, assigned := strings.Cut(a.text, "="); {
		case t.pairs != "" && (name == "--user" || name == "--proxy-user"):
			if assigned {
				m.pair(args, i, t, len(name)+1, &found)
			} else {
				m.pair(args, i+1, t, 0, &found)
			}
		case slices.Contains(t.words, a.text):
			next()
		case m.option.MatchString(name) && assigned:
			if value != "" {
				add(a, len(name)+1)
			}
		case m.option.MatchString(a.text):
			next()
		case t.head(a.text) > 0:
			add(a, t.head(a.text))
		case t.batch && strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "b"):
			if rest := operands(args[i:]); strings.Contains(a.text, "n") && len(rest) > 1 {
				add(rest[1], 0)
			} else if len(rest) > 2 {
				add(rest[2], 0)
			}
		case !strings.HasPrefix(a.text, "-"):
			active = active && !t.once || t.login && a.text == "login"
			if t.once {
				t = tool{}
			}
		case active && len(a.text) > 1 && a.text[1] != '-':
			m.short(args, i, t, &found)
		}
	}
	return found
}

// operands returns the arguments that are no options.
func operands(args []argument) []argument {
	return slices.DeleteFunc(slices.Clone(args), func(a argument) bool { return strings.HasPrefix(a.text, "-") })
}

// head returns where the secret begins in an argument such as pass:X or --from-literal=name=X, or 0.
func (t tool) head(text string) int {
	for _, h := range t.heads {
		if rest, ok := strings.CutPrefix(text, h); ok {
			name, _, named := strings.Cut(rest, "=")
			if named && strings.HasSuffix(h, "=") {
				return len(h) + len(name) + 1
			}
			return len(h)
		}
	}
	return 0
}

// programName returns the name under which tools lists a program, of which text is the name or the path.
func programName(text string) string { return strings.TrimSuffix(path.Base(text), ".exe") }

// short finds the secret of an option with one letter.
func (m *Redactor) short(args []argument, i int, t tool, found *[]span) {
	a := args[i]
	letter, last := a.text[1:2], a.text[len(a.text)-1:]
	switch {
	case strings.Contains(t.short+t.glued, letter) && len(a.text) > 2:
		v := strings.TrimPrefix(a.text[2:], "=")
		isPort := strings.Contains(v, ":") && strings.Trim(v, "0123456789.:") == ""
		if given(v) && !isPort {
			*found = append(*found, span{a.to - len(v), a.to})
		}
	case strings.Contains(t.short, last) && i+1 < len(args) && given(args[i+1].text):
		*found = append(*found, span{args[i+1].from, args[i+1].to})
	case strings.Contains(t.pairs, letter) && len(a.text) > 2:
		m.pair(args, i, t, 2, found)
	case strings.Contains(t.pairs, last):
		m.pair(args, i+1, t, 0, found)
	}
}

// pair finds the secret in an argument that consists of a user and a secret.
func (m *Redactor) pair(args []argument, i int, t tool, skip int, found *[]span) {
	if i >= len(args) {
		return
	}
	a := args[i]
	at := strings.Index(a.text[skip:], cmp.Or(t.sep, ":"))
	if v := a.text[skip+at+1:]; at >= 0 && given(v) && strings.Trim(v, "0123456789") != "" {
		*found = append(*found, span{a.from + skip + at + 1, a.to})
	}
}

// commands redacts the secrets in the arguments of the tools in a text: in command lines, and in lists of arguments,
// also within JSON.
func (m *Redactor) commands(text string) string {
	found := m.commandSecrets(text, 0, 0)
	if len(found) == 0 {
		return text
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	done := 0
	for _, s := range found {
		if s.from < done || strings.HasPrefix(text[s.from:], "[masked:") {
			continue
		}
		b.WriteString(text[done:s.from])
		b.WriteString(redacted("password"))
		done = s.to
	}
	b.WriteString(text[done:])
	return b.String()
}

// commandSecrets returns the secrets in a text that begins at the given offset of a larger one. Arguments in
// quotation marks can be commands, too; depth counts how often one contains another.
func (m *Redactor) commandSecrets(text string, offset, depth int) (found []span) {
	for i := 0; i < len(text); i++ {
		if !isWord(text[i]) {
			continue
		}
		if i > 0 && text[i-1] == '\\' && strings.IndexByte("nrt", text[i]) >= 0 {
			continue // a line break in a string of JSON
		}
		first := i
		for i < len(text) && (isWord(text[i]) || text[i] == '.' || text[i] == '-') {
			i++
		}
		if _, ok := m.tools[programName(text[first:i])]; !ok {
			continue
		}
		args, end := split(text, first, i)
		for k := range args {
			if of := args[k]; depth < maxNested && strings.ContainsAny(of.text, " \t\n") {
				found = append(found, m.commandSecrets(of.text, offset+of.from, depth+1)...)
			}
			args[k].from, args[k].to = args[k].from+offset, args[k].to+offset
		}
		found = append(found, m.secrets(args)...)
		i = max(i, end-1)
	}
	return found
}

// maxNested is how deep commands in arguments are read.
const maxNested = 3

// split returns the arguments of a command, whose program stands between first and i, as the first of them, and the
// position after the command. It understands a command line as well as the arguments in a list of strings, such as
// "curl", "-u", "me:x".
func split(text string, first, i int) (args []argument, end int) {
	args = append(args, argument{text[first:i], first, i})
	list := false
	slashes := 0
	for slashes < 7 && i+slashes < len(text) && text[i+slashes] == '\\' {
		slashes++
	}
	if i+slashes < len(text) && strings.IndexByte("\"'`", text[i+slashes]) >= 0 {
		if first == 0 || text[first-1] != text[i+slashes] {
			return args, i // the quotation mark closes what contains the command
		}
		list = true
		i += slashes + 1
	}
	for i < len(text) {
		escape := text[i] == '\\' && i+1 < len(text) && strings.IndexByte("nrt", text[i+1]) >= 0
		switch c := text[i]; {
		case c == ' ' || c == '\t' || list && (c == ',' || c == '\r' || c == '\n'):
			i++
		case list && escape || strings.HasPrefix(text[i:], "\\\n"):
			i += 2
		case strings.HasPrefix(text[i:], `\\\n`): // a continued line in a string of JSON
			i += 4
		case escape || strings.IndexByte("\n\r;|&)]}", c) >= 0 || list && c == ':':
			return args, i
		default:
			one, next, more := argumentAt(text, i, list)
			if args = append(args, one); !more {
				return args, next
			}
			i = next
		}
	}
	return args, i
}

// argumentAt returns the argument that begins at i, and the position after it. If more is false, a quotation mark
// ends what contains the command.
func argumentAt(text string, i int, list bool) (a argument, next int, more bool) {
	if from, to, next := quotedAt(text, i); to >= 0 && (list || next == len(text) || !isWord(text[next])) {
		return argument{text[from:to], from, to}, next, true
	}
	from := i
	for i < len(text) {
		c := text[i]
		escape := c == '\\' && i+1 < len(text)
		switch {
		case strings.IndexByte(" \t\r\n;|&", c) >= 0, list && (c == ',' || c == ']'),
			escape && strings.IndexByte("nrt\n", text[i+1]) >= 0:
			return argument{text[from:i], from, i}, i, i > from
		case c == '"' || c == '\'' || c == '`' || escape && strings.IndexByte("\\\"'`", text[i+1]) >= 0:
			// A quotation mark after -p or = begins a part of the argument.
			_, to, after := quotedAt(text, i)
			if to < 0 || i == from || i-from > 2 && text[i-1] != '=' && text[i-1] != ':' {
				return argument{text[from:i], from, i}, i + 1, false
			}
			i = after
		default:
			i++
		}
	}
	return argument{text[from:i], from, i}, i, true
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// arguments redacts the secrets in a list of arguments, whose program is unknown if it is empty and the list does not
// contain it.
func (m *Redactor) arguments(program string, list []any) {
	args := []argument{{text: program}}
	at := 0
	place := []int{-1}
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return
		}
		args = append(args, argument{s, at, at + len(s)})
		place = append(place, i)
		at += len(s) + 1
	}
	for _, s := range m.secrets(args) {
		for k, a := range args {
			if k > 0 && s.from >= a.from && s.to <= a.to && s.from < s.to {
				list[place[k]] = a.text[:s.from-a.from] + redacted("password") + a.text[s.to-a.from:]
			}
		}
	}
}
