package answer

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"wardroom/internal/platform/plaintext"
)

// noneLanguages are, for each language but English, the words that can say that there is no blocker, and the
// words that can stand beside them without a change of the meaning. A text with any other word, such as "Keine
// Antwort vom Kunden", can be a blocker. Languages with the same words share a line.
var noneLanguages = []language{
	// German
	words(`keine keiner keines keinen kein keinerlei nichts nix nein nicht ohne entfällt fehlanzeige ka nv`,
		`blocker blockern blockierer blockaden blockade blockierungen blockierung blockiert hindernisse hindernis
		probleme problem impediments risiken hürden schwierigkeiten abhängigkeiten einwände aktuell aktuellen
		aktuelle derzeit momentan zurzeit zur zeit im moment gerade jetzt heute bisher bislang mehr bekannt
		bekannten bekannte offen offenen offene es gibt ich habe bin wir haben sind ist liegen liegt vor vorhanden
		zu berichten melden vermelden und oder weiteren weitere von mir meiner seite danke mich blockieren`),
	// French
	words(`aucun aucune aucuns rien néant non pas sans ras nada`,
		`blocage blocages bloquant bloquants bloquante bloqueur bloqueurs blocker blockers blocant bloqué bloquée
		bloque obstacle obstacles problème problèmes souci soucis difficulté difficultés impediment impediments
		empêchement empêchements frein freins risque risques dépendance dépendances point points de d à a ce cet
		cette pour l le la les moment instant jour stade aujourd hui actuellement signaler déclarer il n y ne est
		je j ai suis nous avons me ni et ou en particulier connu identifié côté mon merci spécial`),
	// Spanish
	words(`ninguno ninguna ningún nada no sin`,
		`bloqueo bloqueos bloqueante bloqueantes bloqueador bloqueadores bloqueado bloqueada bloquea blocker
		blockers impedimento impedimentos obstáculo obstáculos problema problemas inconveniente inconvenientes
		riesgo riesgos dificultad dificultades dependencias novedad novedades hay tengo tenemos existe existen por
		el momento ahora hoy actualmente de en este que reportar informar señalar se estoy me ni y o mi parte
		gracias aún todavía conocidos`),
	// Portuguese
	words(`nenhum nenhuma nada não sem`,
		`bloqueio bloqueios bloqueador bloqueadores bloqueante bloqueantes bloqueado bloqueada bloqueando bloqueia
		blocker blockers impedimento impedimentos obstáculo obstáculos problema problemas risco riscos dificuldade
		dificuldades dependências há ha tem tenho temos existe existem no na momento agora hoje atualmente por
		enquanto até de a o reportar relatar declarar estou me nem e ou da minha parte obrigado obrigada ao`),
	// Italian
	words(`nessuno nessuna nessun niente nulla no non senza`,
		`blocco blocchi bloccante bloccanti bloccato bloccata blocca blocker impedimento impedimenti ostacolo
		ostacoli problema problemi rischio rischi difficoltà dipendenze criticità ci sono c è ho abbiamo al momento
		per ora il adesso oggi attualmente da segnalare riportare sono mi né e o a parte mia grazie di`),
	// Dutch
	words(`geen niets nee niet zonder nvt`,
		`blokkade blokkades blokkers blokker blocker blockers blokkeringen blokkerende geblokkeerd blokkeert
		belemmering belemmeringen obstakels obstakel problemen probleem impediments hindernissen risico risicos
		knelpunten afhankelijkheden er is zijn ik heb we hebben ben op dit moment nu momenteel vandaag te melden en
		of voor mij bekend bekende openstaande mijn kant dank bedankt`),
	// Swedish, Norwegian, Danish
	words(`inga inget ingen ingenting intet inte ikke nej nei utan uten uden`,
		`hinder hindringer forhindringer blockerare blockeringar blockerad blockerande blokkere blokkeringer
		blokkert blokkerere blokeringer blokeret blokkerende blokerende blocker blockers blockeringer problem
		problemer impediments risker risici risikoer att rapportera rapportere det finns er är jag har vi just nu
		lige for för tillfället øjeblikket øyeblikket i i-dag dag idag och og eller kända kjente kendte jeg å at
		melde på min sida side tack takk tak`),
	// Finnish
	words(`ei mikään mitään eivät`,
		`esteitä estettä este esteet estä blokkereita blokkeria ongelmia ongelmaa riskejä ole tällä hetkellä nyt
		tänään raportoitavaa minua tiedossa`),
	// Polish
	words(`brak nic żadne żadnych żaden żadna nie bez`,
		`blokad blokady blokerów blokera blokery blocker blockerów przeszkód przeszkody przeszkoda problemów
		problemu problemy zablokowany zablokowana blokuje ryzyk trudności ma mam mamy jestem mnie obecnie teraz
		dziś dzisiaj na razie ten chwilę w tej chwili do zgłoszenia i ani lub są nas`),
	// Czech and Slovak
	words(`žádné žádný žádná žiadne žiadny žiadna nic nič ne nie bez nejsou niesú není nieje nemám`,
		`blokátory blokátorů blokátor blokátorov blokery blokerů blokerov překážky překážek prekážky prekážok
		problémy problémů problémov problém rizika aktuálně aktuálne momentálně momentálne teď teraz dnes zatím
		zatiaľ su sú jsou mě ma neblokuje blokuje k hlášení na nahlásenie a ani v`),
	// Hungarian
	words(`nincs nincsen nincsenek semmi nem`,
		`akadály akadályok blokkoló blokkolók blokkoló blokker probléma problémák gond jelenleg most ma egyelőre és
		sem sincs`),
	// Romanian
	words(`niciunul niciuna niciun nicio nimic nu fără`,
		`blocaj blocaje blocat blocată blocante blocant blocker blockere impediment impedimente obstacol obstacole
		problemă probleme riscuri sunt am avem există este de raportat semnalat momentan acum astăzi azi în acest
		moment pentru și sau e`),
	// Turkish
	words(`yok yoktur hiçbiri hiçbir hiç değil bulunmuyor bulunmamaktadır`,
		`engel engeller engelim engelleyici engelleyen blokaj bloker blocker sorun sorunlar sorunum problem
		problemler risk şey şu an anda şimdilik şimdi bugün bir herhangi herhangibir var mevcut durum ve veya
		bloklanmış engellenmiş`),
	// Russian, Ukrainian, Bulgarian, Serbian, Croatian
	words(`нет нету ничего никаких отсутствуют отсутствует не без немає нема нічого відсутні ні няма нищо никакви
		ništa nema nemam ништа nikakvih`,
		`блокер блокеры блокеров блокера блокирует блокировок блокировки заблокирован заблокирована препятствий
		препятствия проблем проблемы проблема рисков сложностей вопросов зависимостей меня пока сейчас сегодня на
		данный момент текущий у нас и или мешает известных блокерів блокери перешкод перешкоди проблемы ризиків
		зараз сьогодні поки що мене заблокований даний блокери пречки проблеми към момента в сега днес засега
		блокиран съм prepreka prepreke blokada blokera blokeri problema trenutno za sada danas препрека проблема
		тренутно за сада`),
	// Greek
	words(`κανένα κανένας καμία κανενα καμιά τίποτα τίποτε όχι δεν χωρίς ουδέν`,
		`εμπόδιο εμπόδια μπλοκάρισμα μπλοκαρίσματα blocker blockers πρόβλημα προβλήματα θέματα υπάρχουν υπάρχει έχω
		έχουμε αυτή τη στιγμή προς το παρόν σήμερα τώρα είμαι μπλοκαρισμένος`),
	// Arabic
	words(`لا ليس ليست بدون بلا لايوجد كلا`,
		`يوجد توجد شيء شئ عوائق عائق معوقات معوق مشاكل مشكلة مشكلات عقبات عقبة موانع مانع أي اي هناك لدي لدينا حاليا
		حالياً الآن الان اليوم حتى في الوقت الحالي الراهن من جانبي شكرا`),
	// Persian and Urdu
	words(`هیچ نیست ندارم نداریم ندارد نداره خیر بدون نہیں`,
		`مانع مانعی موانع مشکل مشکلی مورد موردی وجود چیزی در حال حاضر فعلا فعلاً امروز خاصی کوئی رکاوٹ مسئلہ ہے`),
	// Hebrew
	words(`אין ללא כלום לא שום`,
		`חסמים חסם חוסמים חסימות מכשולים בעיות בעיה דבר לי לנו כרגע היום עכשיו לדווח מה`),
	// Hindi
	words(`नहीं नही शून्य`,
		`कोई कुछ भी बाधा बाधाएं बाधाएँ रुकावट समस्या समस्याएं ब्लॉकर है हैं अभी आज फिलहाल`),
	// Indonesian and Malay
	words(`tidak tiada nihil belum tanpa takada tak`,
		`ada hambatan halangan kendala masalah blocker blokir rintangan isu risiko saat ini sekarang hari untuk apa
		apapun yang dilaporkan`),
	// Vietnamese
	words(`không chưa`,
		`có gì trở ngại vấn đề vướng mắc blocker khó khăn rủi ro cản bị chặn hiện tại hôm nay nào lúc này cả`),
}

// noneUnspaced are the forms of such a text, without spaces, in languages in which words follow each other without
// spaces.
var noneUnspaced = []*regexp.Regexp{
	// Japanese
	unspaced(`特に|とくに|現在|現状|現時点で|今|いま|ところ|今日|本日|今回|は|も|で|の|が|ブロッカー|ブロック|ブロックされてい|ブロックされている|もの|こと|障害|障壁|`+
		`課題|問題|懸念|妨げ|支障|困っている|報告|事項|該当|何|点`, `なし|無し|無|ナシ|ない|無い|なかった|ありません|ございません|ません`, `です|ね`),
	// Chinese
	unspaced(`目前|当前|當前|现在|現在|今天|今日|暂时|暫時|暂|暫|我|这边|這邊|并|並|都|还|還`, `没有|沒有|无|無|没|沒|未有|不适用|不適用|不存在|冇`,
		`任何|什么|什麼|其他|明显|重大|的|阻塞|阻碍|阻礙|阻力|障碍|障礙|卡点|卡點|困难|困難|问题|問題|风险|風險|项|項|点|點|依赖|依賴|和|或|及|了|呢|事项|事項`),
	// Korean
	unspaced(`현재|지금|아직|오늘|따로|별도|별다른|특별히|특별한|특이|사항|해당|블로커|블로킹|장애물|장애|요소|방해|막힌|막히는|것|문제|문제점|이슈|는|은|가|이|도|로|로는`,
		`없음|없습니다|없어요|없다|없네요|아니오|무`, `입니다`),
	// Thai, Lao, Khmer, and Burmese
	unspaced(`ตอนนี้|ขณะนี้|วันนี้|ยัง`, `ไม่มี|ບໍ່ມີ|គ្មាន|មិនមាន|မရှိ|မရှိပါ`,
		`อะไร|สิ่ง|อุปสรรค|ปัญหา|ข้อ|ขัดข้อง|ติดขัด|บล็อก|ใดๆ|ใด|ๆ|ที่|ครับ|ค่ะ|คะ|เลย|ບັນຫາ|ຫຍັງ|អ្វី|ទេ|បញ្ហា`),
}

// allGood has, without accents, the sentences that say in a language but English that all is well. Their words are
// not in noneLanguages, because "läuft nicht" is a blocker.
var allGood = func() map[string]bool {
	all := map[string]bool{}
	for s := range strings.SplitSeq(`alles gut, alles klar, alles ok, alles läuft, alles in ordnung, tout va bien, tout est ok, tout roule,
		todo bien, todo ok, todo en orden, tudo bem, tudo certo, tudo ok, tutto bene, tutto ok, tutto a posto,
		alles goed, alles loopt, allt bra, allt ok, alt bra, alt godt, alt ok, kaikki hyvin, kaikki ok,
		kaikki kunnossa, wszystko dobrze, wszystko ok, wszystko w porządku, vše ok, vše v pořádku, všetko ok,
		všetko v poriadku, minden rendben, minden ok, totul bine, totul e ok, her şey yolunda, всё хорошо, все ок,
		всё в порядке, все добре, όλα καλά, הכל בסדר, كل شيء على ما يرام, semua baik, semua lancar, mọi thứ ổn,
		順調です, 順調, 一切正常, 一切顺利, 모두 정상`, ",") {
		all[strings.Join(spacedWords(s), " ")] = true
	}
	return all
}()

// language has the words of noneLanguages, each with true if it says that there is nothing.
type language map[string]bool

func words(none, others string) language {
	all := language{}
	for _, w := range spacedWords(others + " blocker blockers impediment impediments") {
		all[w] = false
	}
	for _, w := range spacedWords(none) {
		all[w] = true
	}
	return all
}

func unspaced(before, none, after string) *regexp.Regexp {
	return regexp.MustCompile(plaintext.Fold(`^((` + before + `)*(` + none + `)(` + after + `)*)+$`))
}

// spacedWords returns the words of a text without accents, which many people leave out.
func spacedWords(s string) []string {
	s = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(plaintext.Fold(s)))
	return strings.FieldsFunc(norm.NFC.String(s), func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M)
	})
}

// abbreviation matches letters with a dot or slash between them, such as n/a and n.v.t.
var abbreviation = regexp.MustCompile(`(^|[^\pL])(\pL(?:[./]\pL)+)\.?($|[^\pL])`)

// saysNoneInAnyLanguage reports whether each sentence of a text says only that there is no blocker.
func saysNoneInAnyLanguage(text string) bool {
	said := false
	text = abbreviation.ReplaceAllStringFunc(text, func(s string) string {
		return strings.NewReplacer(".", "", "/", "").Replace(s)
	})
	for s := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("\n.!;/(),。！；、，（）", r) }) {
		if !strings.ContainsFunc(s, unicode.IsLetter) {
			continue
		}
		if !saysNoneInEnglish(s) && !saysNoneInAnother(s) {
			return false
		}
		said = true
	}
	return said
}

// saysNoneInAnother reports whether a sentence says in a language but English only that there is no blocker.
func saysNoneInAnother(s string) bool {
	all := spacedWords(s)
	if allGood[strings.Join(all, " ")] {
		return true
	}
	for _, known := range noneLanguages {
		none := false
		for i, w := range all {
			says, ok := known[w]
			if !ok {
				break
			}
			if none = none || says; none && i == len(all)-1 {
				return true
			}
		}
	}
	letters := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.L, unicode.N, unicode.M) {
			return r
		}
		return -1
	}, plaintext.Fold(s))
	for _, form := range noneUnspaced {
		if form.MatchString(letters) {
			return true
		}
	}
	return false
}
