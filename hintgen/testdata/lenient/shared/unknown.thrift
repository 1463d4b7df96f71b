struct P { 1: Nowhere p, 2: Base service_as_type }
typedef Nothing N
service Base { Nope f(1: list<Nope> n) }
