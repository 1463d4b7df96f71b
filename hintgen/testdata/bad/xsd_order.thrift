# The stock compiler refuses this too.
# hintgen: 3:34: error: unexpected 'xsd_optional'; expected ';', ',', '}', '(', 'xsd_attrs' or a field
struct T { 1: i32 a xsd_nillable xsd_optional }
