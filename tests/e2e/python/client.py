# SPDX-License-Identifier: Apache-2.0
# tests/e2e/python/client.py: runs the test cases over each combination of transport and protocol, and prints which
# pass.
import os
import sys
import time

from probe import Base, ProbeOfTomorrow
from probe.ttypes import Colour, DivisionByZero, Empty, Everything, Point, Shape
from thrift.Thrift import TApplicationException, TMessageType

from combination import read_combinations
from stack import client_stack

CALLS = 50


class Session:
    def __init__(self, combination):
        self.combination = combination
        self.reopen()

    def reopen(self):
        self.transport, self.protocol = client_stack(self.combination)
        self.client = ProbeOfTomorrow.Client(self.protocol)
        self.transport.open()


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def pattern(size):
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def full_everything():
    point = Point
    return Everything(
        yes=True, no=False, tiny=-128, short_one=-2**15, medium=-2**31, large=-2**63,
        real=-2.5e-300, text='Grüße', blob=b'\x00\xff\x80\x01', colour=Colour.BLUE,
        instant=1_700_000_000_123_456_789, point=point(1, -1, 'corner'),
        shape=Shape(polygon=[point(0, 0), point(3, 0), point(0, 4)]), empty=Empty(),
        numbers=[i * i - 100 for i in range(40)], points=[point(5, 6), point(7, 8)],
        words={'alpha', 'beta', ''}, counts={'one': 1, 'minus one': -1},
        index={1: ['a', 'b'], -2: []}, flags=[[True, False, True], [], [False]],
        blobs=[b'\x00', b'', b'abc'], present='here', reals=[0.0, 1.5, -1e300], far_away=200)


def empty_everything():
    return Everything(
        yes=False, no=False, tiny=0, short_one=0, medium=0, large=0, real=0.0, text='', blob=b'',
        colour=Colour.RED, instant=0, point=Point(0, 0), shape=Shape(radius=0.0), empty=Empty(),
        numbers=[], points=[], words=set(), counts={}, index={}, flags=[], blobs=[], reals=[],
        far_away=0)


def ping(session):
    session.client.ping()


def add(session):
    for left, right in (2, 3), (-7, 3), (2**31 - 1, 0):
        expect(session.client.add(left, right) == left + right, '%d + %d' % (left, right))


def check_echo(session, size):
    expect(session.client.echo(pattern(size)) == pattern(size), '%d bytes were changed on the way' % size)


def echo_sizes(session):
    for size in 0, 1, 2, 100, 4095, 4096, 4097, 65535, 65536, 65537, 300_000:
        check_echo(session, size)


def echo_large(session):
    check_echo(session, session.combination.large)


def produce_consume(session):
    size = min(1_000_000, session.combination.large)
    came = session.client.produce(size)
    expect(came == pattern(size), '%d bytes were changed on the way' % size)
    expect(session.client.consume(came) == size, 'not all of %d bytes arrived' % size)


def text(session):
    sent = 'quote " backslash \\ newline \n tab \t Grüße, мир, 世界, €'
    came = session.client.echo_text(sent)
    expect(came == sent, repr(came) + ' came back')


def everything(session):
    for sent in full_everything(), empty_everything():
        came = session.client.echo_everything(sent)
        expect(came == sent, 'a struct came back changed: %r' % came)
    came = session.client.repeat(full_everything(), 20)
    expect(came == [full_everything()] * 20, 'a list was changed on the way')


def declared(session):
    expect(session.client.divide(7, 2) == 3, '7 / 2')
    try:
        session.client.divide(7, 0)
    except DivisionByZero as error:
        expect((error.numerator, error.message) == (7, 'cannot divide by zero'), repr(error))
        session.client.ping()
    else:
        raise AssertionError('the call raised no declared exception')


def undeclared(session):
    try:
        session.client.fail('on purpose')
    except TApplicationException:
        session.client.ping()
    else:
        raise AssertionError('the call raised no TApplicationException')


def unknown_method(session):
    try:
        session.client.not_yet(1)
    except TApplicationException as error:
        expect(error.type == TApplicationException.UNKNOWN_METHOD, 'the exception has type %d' % error.type)
        session.client.ping()
    else:
        raise AssertionError('the call raised no TApplicationException')


def oneway(session):
    who = 'python-%d-%s' % (os.getpid(), session.combination.address)
    for _ in range(200):
        session.client.note(who)
    count = session.client.count(who)
    expect(count == 200, '%d of 200 oneway calls arrived' % count)


def slow(session):
    began = time.monotonic()
    expect(session.client.slow(50) == 50, 'slow() returned another value')
    expect(time.monotonic() - began >= 0.05, 'the answer came before 50 ms had passed')


def many(session):
    for i in range(300):
        expect(session.client.add(i, i) == 2 * i, 'call %d' % i)


def reconnect(session):
    for i in range(5):
        session.transport.close()
        session.reopen()
        expect(session.client.add(i, 1) == i + 1, 'connection %d' % i)


def pipelined(session):
    """Sends 50 calls, all with sequence id 0, and then reads the 50 answers."""
    for i in range(CALLS):
        session.client.send_add(i, 1000)
    for i in range(CALLS):
        came = session.client.recv_add()
        expect(came == i + 1000, 'answer %d is %d' % (i, came))


def own_seqids(session):
    """Sends 50 calls with different sequence ids; each answer must have the sequence id of its call."""
    seqids = [-2**31, -1, 0, 1, 127, 128, 1 << 14, 1 << 21, 1 << 28, 2**31 - 1, 7, 7]
    seqids += [-i * 1_000_003 for i in range(len(seqids), CALLS)]
    for i, seqid in enumerate(seqids):
        session.client._seqid = seqid
        session.client.send_add(i, 5)
    for i, seqid in enumerate(seqids):
        came = session.protocol.readMessageBegin()
        result = Base.add_result()
        result.read(session.protocol)
        session.protocol.readMessageEnd()
        expect(came == ('add', TMessageType.REPLY, seqid) and result.success == i + 5,
               'the answer to sequence id %d is %r, %r' % (seqid, came, result.success))


def cases_for(combination):
    """Returns the cases that `combination` can run. Over HTTP, these have only one call in flight."""
    cases = [ping, add, echo_sizes, echo_large, produce_consume, text, everything, declared,
             undeclared, unknown_method, oneway, slow, many, reconnect]
    if combination.transport != 'http':
        cases += [pipelined, own_seqids]
    return cases


def run_case(combination, case):
    session = None
    try:
        session = Session(combination)
        case(session)
        print('ok', case.__name__, flush=True)
        return True
    except Exception as error:  # any exception is a failure of the case
        why = ('%s: %s' % (type(error).__name__, error)).replace('\n', ' ')
        print('FAIL', case.__name__, why[:300], flush=True)
        return False
    finally:
        if session and session.transport.isOpen():
            session.transport.close()


def main():
    all_ok = True
    for combination in read_combinations(sys.argv[1:], '--connect'):
        print('run', combination.address, flush=True)
        for case in cases_for(combination):
            if combination.wants(case.__name__):
                all_ok = run_case(combination, case) and all_ok
    sys.exit(0 if all_ok else 1)


if __name__ == '__main__':
    main()
