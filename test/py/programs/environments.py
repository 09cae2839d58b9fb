"""Environments in which an agent acts, with automatic reset, and machines that run small programs."""

import enum
import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from programs.table import Program


def cart_pole(theta, gain, steps):
    """The mean number of steps that a controller survives in an episode."""
    x = v = omega = 0.0
    start = theta
    episodes = 1
    for _ in range(steps):
        force = 10.0 if gain * theta + omega > 0 else -10.0
        temp = (force + 0.05 * omega**2 * math.sin(theta)) / 1.1
        acceleration = (9.8 * math.sin(theta) - math.cos(theta) * temp) / (
            0.5 * (4 / 3 - 0.1 * math.cos(theta) ** 2 / 1.1)
        )
        x_acceleration = temp - 0.05 * acceleration * math.cos(theta) / 1.1
        x += 0.02 * v
        v += 0.02 * x_acceleration
        theta += 0.02 * omega
        omega += 0.02 * acceleration
        if abs(x) > 2.4 or abs(theta) > 0.2095:
            x, v, theta, omega = 0.0, 0.0, start, 0.0
            episodes += 1
    return steps / episodes


@dataclass(frozen=True)
class PoleState:
    angle: float
    velocity: float
    time: int


class Pendulum:
    def __init__(self, limit=0.5):
        self.limit = limit

    def reset(self):
        return PoleState(0.05, 0.0, 0)

    def step(self, state, torque):
        velocity = state.velocity + 0.05 * (9.8 * math.sin(state.angle) + torque)
        angle = state.angle + 0.05 * velocity
        new = replace(state, angle=angle, velocity=velocity, time=state.time + 1)
        done = abs(new.angle) > self.limit or new.time >= 30
        return new, 1.0 if not done else 0.0, done


def pendulum_episodes(gain, steps):
    env = Pendulum()
    state = env.reset()
    total = 0.0
    episodes = 0
    for _ in range(steps):
        state, reward, done = env.step(state, -gain * state.angle - state.velocity)
        total += reward
        if done:
            state = env.reset()
            episodes += 1
    return total, episodes


class Action(enum.Enum):
    UP = 0
    DOWN = 1
    LEFT = 2
    RIGHT = 3


MOVES = {Action.UP: (-1, 0), Action.DOWN: (1, 0), Action.LEFT: (0, -1), Action.RIGHT: (0, 1)}


def grid_world(walls, actions):
    """Rewards of a walk that begins anew when it finds the goal."""
    n, m = walls.shape
    row = col = 0
    total = 0
    for a in actions:
        dr, dc = MOVES[Action(a)]
        r, c = row + dr, col + dc
        if 0 <= r < n and 0 <= c < m and not walls[r, c]:
            row, col = r, c
        total -= 1
        if (row, col) == (n - 1, m - 1):
            total += 10
            row, col = 0, 0
    return total


def grid_world_match(actions):
    x, y = 2, 2
    for a in actions:
        match a:
            case 0 if y > 0:
                y -= 1
            case 1 if y < 4:
                y += 1
            case 2 if x > 0:
                x -= 1
            case 3 if x < 4:
                x += 1
            case _:
                pass
    return x, y


def value_iteration(rewards, discount):
    """The values of states of a corridor with two actions, and the number of sweeps until they converge."""
    n = len(rewards)
    V = np.zeros(n)
    sweeps = 0
    while True:
        delta = 0.0
        for s in range(n):
            old = V[s]
            left = V[max(s - 1, 0)]
            right = V[min(s + 1, n - 1)]
            V[s] = rewards[s] + discount * max(left, right)
            delta = max(delta, abs(old - V[s]))
        sweeps += 1
        if delta < 1e-3:
            break
    return V, sweeps


def q_learning(choices, rate):
    """A table of values learned on a line of five states by given random choices."""
    Q = np.zeros((5, 2))
    state = 2
    wins = 0
    for choice in choices:
        greedy = int(np.argmax(Q[state]))
        action = choice if choice < 2 else greedy
        new_state = state + (1 if action == 1 else -1)
        reward = 0.0
        done = False
        if new_state == 4:
            reward, done = 1.0, True
            wins += 1
        elif new_state == 0:
            reward, done = -1.0, True
        target = reward if done else reward + 0.9 * Q[new_state].max()
        Q[state, action] += rate * (target - Q[state, action])
        state = 2 if done else new_state
    return Q, wins


class Car(NamedTuple):
    position: float
    velocity: float


def mountain_car(threshold, max_steps=300):
    """Steps to the top when one pushes with the motion."""
    car = Car(-0.5, 0.0)
    for step in range(max_steps):
        push = 1 if car.velocity >= threshold else -1
        velocity = car.velocity + 0.001 * push - 0.0025 * math.cos(3 * car.position)
        velocity = min(max(velocity, -0.07), 0.07)
        position = min(max(car.position + velocity, -1.2), 0.6)
        if position == -1.2 and velocity < 0:
            velocity = 0.0
        car = Car(position, velocity)
        if car.position >= 0.5:
            return step
    return max_steps


def elevator(requests):
    """Floors that an elevator passes that serves calls in order and picks up those on the way."""
    waiting = [r for r in requests]
    floor = 0
    passed = 0
    served = [False] * len(waiting)
    while not all(served):
        target = next(w for w, s in zip(waiting, served) if not s)
        while floor != target:
            floor += 1 if target > floor else -1
            passed += 1
            for i, w in enumerate(waiting):
                if w == floor:
                    served[i] = True
        for i, w in enumerate(waiting):
            if w == floor:
                served[i] = True
    return passed


def thermostat(outside, target):
    """How long the heating is on, with hysteresis."""
    heating = False
    temperature = outside[0]
    on_for = 0
    for t_out in outside:
        if heating and temperature > target + 0.5:
            heating = False
        elif not heating and temperature < target - 0.5:
            heating = True
        temperature += 0.1 * (t_out - temperature) + (1.5 if heating else 0.0)
        on_for += heating
    return on_for, temperature


def bytecode(program, x):
    """A machine with a stack; opcodes are rows of operation and operand."""
    stack = np.zeros(8, dtype=int)
    sp = 0
    pc = 0
    steps = 0
    while steps < 200:
        op, arg = program[pc]
        pc += 1
        steps += 1
        if op == 0:
            break
        elif op == 1:
            stack[sp] = arg
            sp += 1
        elif op == 2:
            stack[sp] = x
            sp += 1
        elif op == 3:
            sp -= 1
            stack[sp - 1] += stack[sp]
        elif op == 4:
            sp -= 1
            stack[sp - 1] *= stack[sp]
        elif op == 5:
            sp -= 1
            if stack[sp] > 0:
                pc = arg
        elif op == 6:
            stack[sp] = stack[sp - 1]
            sp += 1
    return stack[sp - 1], steps


def brainfuck_like(code, start):
    """Increment, decrement, move, and loops that look for their bracket."""
    tape = [0] * 6
    tape[0] = start
    pointer = ip = steps = 0
    while ip < len(code) and steps < 300:
        c = code[ip]
        if c == ord(">"):
            pointer += 1
        elif c == ord("<"):
            pointer -= 1
        elif c == ord("+"):
            tape[pointer] += 1
        elif c == ord("-"):
            tape[pointer] -= 1
        elif c == ord("[") and tape[pointer] == 0:
            depth = 1
            while depth:
                ip += 1
                depth += {ord("["): 1, ord("]"): -1}.get(code[ip], 0)
        elif c == ord("]") and tape[pointer] != 0:
            depth = 1
            while depth:
                ip -= 1
                depth += {ord("]"): 1, ord("["): -1}.get(code[ip], 0)
        ip += 1
        steps += 1
    return tape


@dataclass
class Account:
    balance: float = 0.0
    overdrafts: int = 0

    def withdraw(self, amount):
        if amount > self.balance:
            self.overdrafts += 1
            return False
        self.balance -= amount
        return True

    def deposit(self, amount):
        self.balance += amount


def bank_account(transactions, verbose=False):
    account = Account()
    for t in transactions:
        if t >= 0:
            account.deposit(t)
        elif not account.withdraw(-t) and verbose:
            print(f"refused {t}")
    return account.balance, account.overdrafts


def traffic_light(cars, patience):
    """Cars that wait at the end; the light changes when the other side has waited for long enough."""
    queues = {"north": 0, "east": 0}
    green = "north"
    waited = 0
    for north, east in cars:
        queues["north"] += north
        queues["east"] += east
        other = "east" if green == "north" else "north"
        if queues[green] > 0:
            queues[green] -= 1
        if queues[other] > 0:
            waited += 1
        if waited >= patience:
            green, waited = other, 0
    return queues["north"], queues["east"]


_RNG = np.random.default_rng(61)
_WALLS = np.zeros((4, 3, 3), int)
_WALLS[1, 1, 1] = _WALLS[2, 0, 1] = _WALLS[3, 1, 0] = 1
_ACTIONS = _RNG.integers(0, 4, (4, 12))
_ACTIONS[0, :4] = [1, 1, 3, 3]
_CODES = np.array(
    [
        [[2, 0], [1, 3], [4, 0], [1, 1], [3, 0], [0, 0], [0, 0], [0, 0]],
        [[2, 0], [1, -1], [3, 0], [6, 0], [5, 1], [0, 0], [0, 0], [0, 0]],
        [[1, 5], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]],
        [[2, 0], [2, 0], [4, 0], [2, 0], [3, 0], [0, 0], [0, 0], [0, 0]],
    ]
)


def _codes(*strings):
    width = max(map(len, strings))
    return np.array([[ord(c) for c in s.ljust(width)] for s in strings])


PROGRAMS = [
    Program(cart_pole, ([0.01, 0.1, -0.05, 0.2], [1.0, 0.0, -3.0, 0.2], [50, 30, 80, 60]), rtol=1e-4),
    Program(pendulum_episodes, ([0.0, 12.0, 20.0, 9.0], [20, 40, 35, 50])),
    Program(grid_world, (_WALLS, _ACTIONS)),
    Program(grid_world_match, (_ACTIONS,)),
    Program(
        value_iteration,
        (np.array([[0.0, 0, 0, 1], [1.0, 0, 0, 0], [0.0, -1, 0, 5], [0.0, 0, 0, 0]]), [0.9, 0.5, 0.8, 0.9]),
        rtol=1e-4,
    ),
    Program(q_learning, (_RNG.integers(0, 3, (4, 15)), [0.5, 0.1, 0.9, 1.0])),
    Program(mountain_car, ([0.0, 0.01, -0.005, 0.07],), x64=True),
    Program(elevator, (np.array([[3, 1, 2], [5, 5, 5], [0, 4, 2], [2, 7, 1]]),)),
    Program(thermostat, (_RNG.uniform(-5, 25, (4, 10)), [20.0, 15.0, 10.0, 18.0])),
    Program(bytecode, (_CODES, [2, 5, 7, 9])),
    Program(brainfuck_like, (_codes("[->+<]", "+++", "[->++>+<<]", ">+[-]<--"), [3, 1, 2, 5])),
    Program(bank_account, (np.array([[10.0, -3.0, -8.0, 5.0], [1.0, 2.0, 3.0, -6.0], [-1.0, -1.0, -1.0, -1.0]]),)),
    Program(traffic_light, (_RNG.integers(0, 2, (4, 10, 2)), [1, 2, 3, 5])),
]
