package answer

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// noneForm matches the words of a text that says only that there is no blocker, without the words
// that fillerPhrases and fillerWords match.
var noneForm = regexp.MustCompile(`^(blockers? )?((none|nope|nil|null|n a|na|n|no|nothing|zero|0|(all )?(clear|good)|unblocked|not applicable|on track|(all )?dependencies resolved|` +
	`nothing (in way|way|to report)|((none|no|zero|0|nothing|not|don't|do not)( any)? )(block(s|er|ers|ed|ing|ages?)?( issues)?|impediments?|obstacles?|roadblocks?|issues|problems|concerns|risks|dependencies|escalations)( by anything)?)( |$))+$`)

var (
	// fillerPhrases matches phrases that do not change the meaning of "no blockers".
	fillerPhrases = regexp.MustCompile(`\b(at (this|the) (time|point|moment)|at present|for (the moment|now)|right now|so far|as of (now|today)|(on|from) (my|our) (side|end)|from me|` +
		`to (report|raise|flag|mention)|(that )?(i|i'm|i am) (know of|aware of)|as far as i know)\b`)
	// markupTag matches HTML tags that agents put around a word.
	markupTag = regexp.MustCompile(`(?i)</?(p|li|ul|ol|em|strong|b|i|br|div|span)\s*/?>`)
)

// fillerWords are words that do not change the meaning of "no blockers".
const fillerWords = " currently today now me known active major current new i am i'm i've have there there's are is really identified reported still yet outstanding " +
	"significant external open critical immediate it it's thanks thank you for the of my our everything "

// maxNone is the maximum length, in characters, of a text that is recognized as "none".
const maxNone = 160

// SaysNone reports whether the text says only that there is no blocker, in English or another major language.
func SaysNone(text string) bool {
	if utf8.RuneCountInString(text) > maxNone {
		return false
	}
	text = markupTag.ReplaceAllString(text, " ")
	return saysNoneInEnglish(text) || saysNoneInAnyLanguage(text)
}

func saysNoneInEnglish(text string) bool {
	words := phraseWords(text)
	if len(words) == 0 {
		return !strings.ContainsFunc(text, unicode.IsLetter)
	}
	var kept []string
	for w := range strings.FieldsSeq(fillerPhrases.ReplaceAllString(strings.Join(words, " "), "")) {
		if w = strings.Trim(w, "'"); w != "" && !strings.Contains(fillerWords, " "+w+" ") {
			kept = append(kept, w)
		}
	}
	return noneForm.MatchString(strings.Join(kept, " "))
}

var blockerNoun = regexp.MustCompile(
	`(?i)\b(un)?block(er|ers|ed|ing|age|ages)?\b|\bimpediments?\b|\bobstacles?\b|\broadblocks?\b`,
)

// mentionsBlockers reports whether the text is short and contains a word such as "blocker"
// or "impediment".
func mentionsBlockers(text string) bool {
	return utf8.RuneCountInString(text) <= maxNone && blockerNoun.MatchString(text)
}

// contradiction matches words suggesting that the text after "None" describes a blocker after all.
var contradiction = regexp.MustCompile(`(?i)\b(block\w*|wait\w*|stuck|but|however|although|except|depend\w*|risk\w*|task-\d+|need access|pending|` +
	`aber|jedoch|wart\w*|mais|cependant|attend\w*|pero|espera\w*|mas|porém|aguard\w*|ma|attes\w*|maar|wacht\w*|men|vent\w*|vänt\w*|ale|czeka\w*|ama|fakat)\b|` +
	`però|но |однако|жд[уеё]|чека|ただし|しかし|待ち|但|等待|等|하지만|그러나|대기|لكن|انتظار`)

// cutNone checks whether s, the content of a report's Blockers part, says that there are no
// blockers. If so, it returns an empty text and any remark that follows. Otherwise it returns s as
// text.
func cutNone(s string) (text, after string) {
	if SaysNone(s) {
		return "", ""
	}
	head, rest, ok := strings.Cut(s, "\n\n")
	if !ok || !SaysNone(head) {
		return s, ""
	}
	rest = strings.TrimSpace(rest)
	if _, list := cutMarker(rest); list || contradiction.MatchString(rest) {
		return s, ""
	}
	return "", rest
}
