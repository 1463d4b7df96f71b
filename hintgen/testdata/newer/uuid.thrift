const uuid NIL = "00000000-0000-0000-0000-000000000000"
const uuid BRACED = '{6ba7b810-9dad-11d1-80b4-00c04fd430c8}'
struct S { 1: uuid id, 2: list<uuid> ids, 3: map<uuid, i32> m, 4: uuid (a = "b") u }
service V { uuid following(1: uuid last) }
