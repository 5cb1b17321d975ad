package pattern

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// property returns the characters of a property, as \p{name} and \p{key=name} name it.
func property(name string) (set, *Error) {
	key, value, isPair := strings.Cut(name, "=")
	switch {
	case !isPair:
		if s, ok := category(name); ok {
			return s, nil
		}
		if s, ok := binary(name); ok {
			return s, nil
		}
	case key == "General_Category" || key == "gc":
		if s, ok := category(value); ok {
			return s, nil
		}
	case key == "Script" || key == "sc":
		if long, ok := scriptAliases()[value]; ok {
			value = long
		}
		if table, ok := unicode.Scripts[value]; ok {
			return ofTable(table), nil
		}
	case key == "Script_Extensions" || key == "scx":
		return nil, &Error{Msg: "Script_Extensions is not supported", Hint: "write \\p{Script=" + value + "}"}
	}
	if unsupported[name] {
		return nil, &Error{Msg: "\\p{" + name + "} is not supported", Hint: "\\p{Alphabetic}, \\p{L} and others are: list the characters, or use another property"}
	}
	return nil, &Error{Msg: "there is no property " + strconv.Quote(name), Hint: `for example \p{L}, \p{Lu}, \p{N}, \p{Alphabetic} or \p{Script=Greek}`}
}

// words returns the pairs in a text.
func words(text string) map[string]string {
	pairs := map[string]string{}
	for pair := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(pair, "=")
		pairs[key] = value
	}
	return pairs
}

// category returns the characters of a general category.
func category(name string) (set, bool) {
	if short, ok := unicode.CategoryAliases[name]; ok {
		name = short
	}
	table, ok := unicode.Categories[name]
	if !ok {
		return nil, false
	}
	return ofTable(table), true
}

// of returns the characters of categories and properties of Go's package unicode.
func of(names ...string) set {
	var all []set
	for _, name := range names {
		if table, ok := unicode.Categories[name]; ok {
			all = append(all, ofTable(table))
		} else {
			all = append(all, ofTable(unicode.Properties[name]))
		}
	}
	return union(all...)
}

// binaryAliases are the short names of binary properties.
var binaryAliases = words(`AHex=ASCII_Hex_Digit Alpha=Alphabetic Bidi_C=Bidi_Control Dep=Deprecated DI=Default_Ignorable_Code_Point
	Dia=Diacritic EBase=Emoji_Modifier_Base EComp=Emoji_Component EMod=Emoji_Modifier EPres=Emoji_Presentation Ext=Extender
	ExtPict=Extended_Pictographic Gr_Base=Grapheme_Base Gr_Ext=Grapheme_Extend Hex=Hex_Digit IDC=ID_Continue IDS=ID_Start
	IDSB=IDS_Binary_Operator IDST=IDS_Trinary_Operator Ideo=Ideographic Join_C=Join_Control LOE=Logical_Order_Exception
	Lower=Lowercase NChar=Noncharacter_Code_Point Pat_Syn=Pattern_Syntax Pat_WS=Pattern_White_Space QMark=Quotation_Mark
	RI=Regional_Indicator SD=Soft_Dotted STerm=Sentence_Terminal Term=Terminal_Punctuation UIdeo=Unified_Ideograph
	Upper=Uppercase VS=Variation_Selector space=White_Space`)

// plain are the binary properties that Go's package unicode has and JavaScript too.
const plain = ` ASCII_Hex_Digit Bidi_Control Dash Deprecated Diacritic Extender Hex_Digit IDS_Binary_Operator IDS_Trinary_Operator Ideographic
 Join_Control Logical_Order_Exception Noncharacter_Code_Point Pattern_Syntax Pattern_White_Space Quotation_Mark Radical Regional_Indicator
 Sentence_Terminal Soft_Dotted Terminal_Punctuation Unified_Ideograph Variation_Selector White_Space `

// binary returns the characters of a binary property. Derived properties are computed as Unicode derives them.
func binary(name string) (set, bool) {
	if long, ok := binaryAliases[name]; ok {
		name = long
	}
	if s, ok := emoji()[name]; ok {
		return s, true
	}
	switch name {
	case "Any":
		return set{{0, unicode.MaxRune}}, true
	case "ASCII":
		return set{{0, 0x7f}}, true
	case "Assigned":
		return of("Cn").inverted(), true
	case "Alphabetic":
		return of("L", "Nl", "Other_Alphabetic", "Other_Lowercase", "Other_Uppercase"), true
	case "Lowercase":
		return of("Ll", "Other_Lowercase"), true
	case "Uppercase":
		return of("Lu", "Other_Uppercase"), true
	case "Cased":
		return of("Lu", "Ll", "Lt", "Other_Lowercase", "Other_Uppercase"), true
	case "Math":
		return of("Sm", "Other_Math"), true
	case "ID_Start":
		return of("L", "Nl", "Other_ID_Start").without(of("Pattern_Syntax", "Pattern_White_Space")), true
	case "ID_Continue":
		return of("L", "Nl", "Other_ID_Start", "Mn", "Mc", "Nd", "Pc", "Other_ID_Continue").without(of("Pattern_Syntax", "Pattern_White_Space")), true
	case "Grapheme_Extend":
		return of("Me", "Mn", "Other_Grapheme_Extend"), true
	case "Grapheme_Base":
		return of("C", "Zl", "Zp", "Me", "Mn", "Other_Grapheme_Extend").inverted(), true
	case "Default_Ignorable_Code_Point":
		visible := union(of("White_Space", "Prepended_Concatenation_Mark"), set{{0xfff9, 0xfffb}, {0x13430, 0x13440}})
		return of("Other_Default_Ignorable_Code_Point", "Cf", "Variation_Selector").without(visible), true
	}
	if !strings.Contains(name, " ") && strings.Contains(plain, " "+name+" ") {
		return of(name), true
	}
	return nil, false
}

// unsupported are the names of properties of JavaScript that are not known here.
var unsupported = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`Bidi_Mirrored Bidi_M Case_Ignorable CI Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM
		Changes_When_Lowercased CWL Changes_When_NFKC_Casefolded CWKCF Changes_When_Titlecased CWT Changes_When_Uppercased CWU
		XID_Continue XIDC XID_Start XIDS`) {
		names[name] = true
	}
	return names
}()

//go:embed emoji.txt
var emojiText string

// emoji has the properties of emoji.txt.
var emoji = sync.OnceValue(func() map[string]set {
	all := map[string]set{}
	for line := range strings.Lines(emojiText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields, last, s := strings.Fields(line), rune(0), set(nil)
		for _, field := range fields[1:] {
			distance, more, _ := strings.Cut(field, "+")
			lo := last + hexadecimal(distance)
			last = lo + hexadecimal(more)
			s = append(s, span{lo, last})
		}
		all[fields[0]] = s
	}
	return all
})

// hexadecimal returns a number of emoji.txt, 0 if it is left out.
func hexadecimal(s string) rune {
	n, _ := strconv.ParseInt(s, 16, 32)
	return rune(n)
}

// scriptAliases has the long names of scripts, by their codes in ISO 15924.
var scriptAliases = sync.OnceValue(func() map[string]string { return words(scriptCodes) })

const scriptCodes = `
Adlm=Adlam Aghb=Caucasian_Albanian Arab=Arabic Armi=Imperial_Aramaic Armn=Armenian Avst=Avestan Bali=Balinese
Bamu=Bamum Bass=Bassa_Vah Batk=Batak Beng=Bengali Bhks=Bhaiksuki Bopo=Bopomofo Brah=Brahmi Brai=Braille Bugi=Buginese
Buhd=Buhid Cakm=Chakma Cans=Canadian_Aboriginal Cari=Carian Cher=Cherokee Chrs=Chorasmian Copt=Coptic Cpmn=Cypro_Minoan
Cprt=Cypriot Cyrl=Cyrillic Deva=Devanagari Diak=Dives_Akuru Dogr=Dogra Dsrt=Deseret Dupl=Duployan
Egyp=Egyptian_Hieroglyphs Elba=Elbasan Elym=Elymaic Ethi=Ethiopic Geor=Georgian Glag=Glagolitic Gong=Gunjala_Gondi
Gonm=Masaram_Gondi Goth=Gothic Gran=Grantha Grek=Greek Gujr=Gujarati Guru=Gurmukhi Hang=Hangul Hani=Han Hano=Hanunoo
Hatr=Hatran Hebr=Hebrew Hira=Hiragana Hluw=Anatolian_Hieroglyphs Hmng=Pahawh_Hmong Hmnp=Nyiakeng_Puachue_Hmong
Hung=Old_Hungarian Ital=Old_Italic Java=Javanese Kali=Kayah_Li Kana=Katakana Khar=Kharoshthi Khmr=Khmer Khoj=Khojki
Kits=Khitan_Small_Script Knda=Kannada Kthi=Kaithi Lana=Tai_Tham Laoo=Lao Latn=Latin Lepc=Lepcha Limb=Limbu
Lina=Linear_A Linb=Linear_B Lyci=Lycian Lydi=Lydian Mahj=Mahajani Maka=Makasar Mand=Mandaic Mani=Manichaean
Marc=Marchen Medf=Medefaidrin Mend=Mende_Kikakui Merc=Meroitic_Cursive Mero=Meroitic_Hieroglyphs Mlym=Malayalam
Mong=Mongolian Mroo=Mro Mtei=Meetei_Mayek Mult=Multani Mymr=Myanmar Nagm=Nag_Mundari Nand=Nandinagari
Narb=Old_North_Arabian Nbat=Nabataean Nkoo=Nko Nshu=Nushu Ogam=Ogham Olck=Ol_Chiki Orkh=Old_Turkic Orya=Oriya
Osge=Osage Osma=Osmanya Ougr=Old_Uyghur Palm=Palmyrene Pauc=Pau_Cin_Hau Perm=Old_Permic Phag=Phags_Pa
Phli=Inscriptional_Pahlavi Phlp=Psalter_Pahlavi Phnx=Phoenician Plrd=Miao Prti=Inscriptional_Parthian Qaac=Coptic
Qaai=Inherited Rjng=Rejang Rohg=Hanifi_Rohingya Runr=Runic Samr=Samaritan Sarb=Old_South_Arabian Saur=Saurashtra
Sgnw=SignWriting Shaw=Shavian Shrd=Sharada Sidd=Siddham Sind=Khudawadi Sinh=Sinhala Sogd=Sogdian Sogo=Old_Sogdian
Sora=Sora_Sompeng Soyo=Soyombo Sund=Sundanese Sylo=Syloti_Nagri Syrc=Syriac Tagb=Tagbanwa Takr=Takri Tale=Tai_Le
Talu=New_Tai_Lue Taml=Tamil Tang=Tangut Tavt=Tai_Viet Telu=Telugu Tfng=Tifinagh Tglg=Tagalog Thaa=Thaana Tibt=Tibetan
Tirh=Tirhuta Tnsa=Tangsa Ugar=Ugaritic Vaii=Vai Vith=Vithkuqi Wara=Warang_Citi Wcho=Wancho Xpeo=Old_Persian
Xsux=Cuneiform Yezi=Yezidi Yiii=Yi Zanb=Zanabazar_Square Zinh=Inherited Zyyy=Common`
