exception A { 1: string why }
exception B {}
typedef B C
struct Arg { 1: i32 x }
service Plain {
  void nothing()
  i32 add(1: i32 a, 2: i32 b),
  list<map<string, Arg>> many(1: list<Arg> items; 2: set<i32> s);
  void fails(1: i32 a) throws (1: A a)
  Arg both(1: Arg arg = {"x": 1}) throws (1: A a, 2: B b, 3: C c),
  void no_ids(i32 a, i32 b) throws (A first, B second)
  void marked(1: required i32 a, 2: optional i32 b, 3: i32 c)
  oneway void tell(1: string text)
  oneway i32 odd()
  oneway void empty_throws() throws ()
  async void old(1: i32 a),
}
service Empty {}
