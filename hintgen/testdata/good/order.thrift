service Uses { Late get(1: list<Late> all, 2: Alias other) }
typedef Late Alias
struct Late { 1: optional Alias again, 2: Kind kind }
enum Kind { A }
