struct Old xsd_all {
  1: i32 a xsd_optional
  2: i32 b xsd_nillable
  3: i32 c xsd_optional xsd_nillable
  4: i32 d = 4 xsd_optional xsd_attrs { 1: string lang, 2: i32 deep xsd_attrs { 1: i32 e } } (f = "g"),
}
union OldUnion xsd_all { 1: i32 a }
