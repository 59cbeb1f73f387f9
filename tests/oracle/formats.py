"""Values of every format: by hand, and changed at random in one place."""

import random

import referencing
from jsonschema_specifications import REGISTRY as DRAFTS

# Nothing is fetched.
REGISTRY = DRAFTS.combine(referencing.Registry())

VALUES = {
    'date': ["2020-01-01","2020-02-30","2020-13-01","20-01-01","2020-1-1","2020-02-29","2021-02-29","2020-01-01T","২০২০-01-01","+2020-01-01","2020-01-1a","0000-01-01"," 2020-01-01","2020-01-01\n","2020001","2020-W01-1"],
    'time': ["12:00:00Z","12:00:00","24:00:00Z","12:60:00Z","23:59:60Z","12:59:60Z","12:00:00+01:00","12:00:00+24:00","12:00:00.5Z","12:00:00.Z","12:00:00z","12:00Z","1:00:00Z","12:00:00+0100","12:00:00 Z","12:00:00Z\n","12:00:00,5Z","22:59:60-01:00","12:00:00+23:60","১২:00:00Z"],
    'date-time': ["2020-01-01T12:00:00Z","2020-01-01 12:00:00Z","2020-01-01t12:00:00z","2020-01-01T12:00:00","2020-02-30T12:00:00Z","2020-01-01T24:00:00Z","1998-12-31T23:59:60Z","1998-12-31T22:59:60Z","2020-01-01T12:00:00+25:00","2020-01-01T12:00:00.123456789Z","2020-01-01X12:00:00Z","2020-01-01","2020-01-01T12:00Z","2020-01-01_12:00:00Z"],
    'duration': ["P1D","P","PT","P1Y2M","PT1H","P1W","P1W2D","P1.5D","PT0.5S","P1","1D","P-1D","P1DT","PT1M1H","P1S","P1D2H","p1d","P1Y1D","PT1H1S","P1Y2W","+P1D","P1D ","P১Y"],
    'email': ["a@b.c","a","a@","@b","a@b","a b@c.d",'"a b"@c.d',"a@[1.2.3.4]","a@[1.2.3]","a..b@c.d",".a@c.d","a.@c.d","a@-b.c","a@b-.c","a@b_c.d","joe.bloggs@invalid=domain.com","a@b.c\n","é@b.c","a@é.c","a@b@c","a@[IPv6:::1]","<a@b.c>","a@b..c",'"a"b@c.d',"a\\@b.c","x"*65+"@b.c","a@b c"],
    'idn-email': ["2962","a","실례@실례.테스트","a@","@a","a b@c.d","a@b c","a@b","a@-b","@","a@@b","é@b.c","a@é","a@b..c","", "a@b\n"],
    'hostname': ["a","a b","-a","a-","a_b","a..b","a.","","1","xn--X","a.b-c.d","x"*63,"x"*64,".a","é","a\n","xn--4gbwdl.xn--wgbh1c","a--b","ab--cd","xn--","A.B","1.2.3.4","a.b.","x.".join(["y"*60]*5)],
    'idn-hostname': ["a b","a","실례.테스트","〮실례.테스트","-a","a-","a..b","","xn--X","a_b","é","ß","a·b","l·l","\u0640\u07fa","x"*64,"a\n","a@b","a/b","\u200d","क्‍ष","a。b","A","Ⅷ","☃","\u0375","ab--cd"],
    'ipv4': ["1.2.3.4","256.1.1.1","1.2.3","01.2.3.4","1.2.3.4.5","1.2.3.4 ","0x1.2.3.4","1২.2.3.4","1.2.3.4\n","1..2.3","-1.2.3.4","127.1","0.0.0.0","1.2.3.4/8","087.1.1.1"],
    'ipv6': ["::1","::","1::2::3","12345::","::ffff:1.2.3.4","::1.2.3","fe80::1%eth0","1:2:3:4:5:6:7","1:2:3:4:5:6:7:8","1:2:3:4:5:6:7:8:9","::g",":1","1:","::1/64"," ::1","::1\n","1:2:3:4:5:6:1.2.3.4","::01.2.3.4","::1.2.3.4:5","1::2:3:4:5:6:7:8","২::"],
    'uri': ["http://a","a","/a","//a","http:","http://a b","http://é","http://[::1]","http://[::g]","a:b","1a:b","http://a:b","http://a:80","http://a/%","http://a/%zz","http://a/%41","urn:x:y","http://a?b#c#d","http://a/<>","http://a/{b}","http://a/\\","mailto:a@b","",":a","http://a\n","http:// ","bar,baz:foo","http://[v1.a]","http://[::1%25en]","file:///a","http://a/|","http://a/^","http://a@b@c","https://[@example.org/test.txt","http://a/\"","http://a`"],
    'uri-reference': ["a","/a","//a","a b","é","%","%zz","#a","#a#b","?a","\\a","a\\b","<a>","{a}","http://a","","1a:b","a:b:c",":a","//[::1]","//[::g]","#fr\\agment","/%41","|","^","`","\"","a\n"],
    'iri': ["http://é","http://a","a","/é","http://é b","http://[::1]","http://é/%","http://ƒøø.ßår/?∂éœ=πîx","http://2001:0db8:85a3::7334","http://a\\b","é:b","http://a/\ue000","http://a?\ue000","http://a/<é>","http://a/\u202e","http://a/{é}","","http://a/%zz","http://\u00a0","http://a/\u3000"],
    'iri-reference': ["é","/é","#é","é b","\\é","%","#é\\a","<é>","","a:b","//é","//[::1]","é#a#b","1é:b","{","\ue000","a?\ue000","%zz","^","|","é\n"],
    'uri-template': ["{a}","{a","a}","{}","{a,b}","{+a}","{a*}","{a:3}","{a:0}","{a:10000}","{a b}","{{a}}","a b","{a}{b}","{=a}","{!a}","{@a}","{|a}","{?a,b}","{a.b}","{.a}","{a..b}","{a.}","{%41}","{%zz}","%","%zz","%41","é","<a>","\"","^","`","\\","{a:}","{a:3*}","'","{+}","{,a}","{a,}","{é}","|","{a-b}"],
    'uuid': ["2eb8aa08-aa98-11ea-b4aa-73b441d16380","2eb8aa08aa9811eab4aa73b441d16380","2eb8aa08-aa98-11ea-b4aa-73b441d1638","{2eb8aa08-aa98-11ea-b4aa-73b441d16380}","2EB8AA08-AA98-11EA-B4AA-73B441D16380","2eb8aa08-aa98-11ea-b4aa-73b441d1638g","urn:uuid:2eb8aa08-aa98-11ea-b4aa-73b441d16380","2eb8-aa08-aa98-11ea-b4aa73b44-1d16380","2eb8aa08-aa98-11ea-b4aa-73b441d16380\n","00000000-0000-0000-0000-000000000000","২eb8aa08-aa98-11ea-b4aa-73b441d1638"],
    'json-pointer': ["","/","/a","a","/a~0","/a~","/a~2","/~1","#","#/a","/a/","//","/é","/~~","/a~01","0"," /a"],
    'relative-json-pointer': ["0","1","0#","0/a","0a","01","-1","","#","/a","0##","0~","1/~","1/~0","+1","0/","0+1","1-1","২","0+1#","00"," 0"],
    'regex': ["a","(","[","a**","\\Z","(?=a)","(a)\\1","a{2,1}","\\","[z-a]","(?<n>a)","(?P<n>a)","\\a","^\\S(|(.|\\n)*\\S)\\Z","*","a++","(?i)a","\\p{L}","\\p{Foo}",")","{","a{","\\c","\\u12"],
}

LETTERS = list("abcXYZ019-.:/@%#?[]{}~+_ \\'\"é\n") + ["::", "T", "Z", "xn--"]


def changed(chance, value):
    letters = list(value)
    at = chance.randrange(len(letters) + 1)
    how = chance.choice(["insert", "delete", "replace"])
    letters[at : at + (how != "insert")] = [] if how == "delete" else [chance.choice(LETTERS)]
    return "".join(letters)


def cases():
    chance = random.Random(7)
    for name, values in VALUES.items():
        by_chance = {changed(chance, chance.choice(values)) for _ in range(300)}
        by_chance |= {"".join(chance.choices(LETTERS, k=chance.randrange(1, 7))) for _ in range(40)}
        for value in sorted({*values, *by_chance}):
            yield {"suite": "formats", "id": name, "schema": {"format": name}, "instance": value}
